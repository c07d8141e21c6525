"""What the doctor says in the end: the findings, one verdict with its reason and remedy, and advice."""

from enum import StrEnum
from typing import Any

from dibs.doctor.finding import Finding, Level
from dibs.values import asdict, dataclass, field


class Verdict(StrEnum):
    MANY = "safe for many hosts"
    ONE = "safe on one host"
    UNSAFE = "not safe"
    NONE = "no verdict"  # something could not be tried, and nothing that was is wrong


@dataclass(slots=True, kw_only=True)
class Report:
    """`place` is for people, without secrets."""

    place: str
    scheme: str = "file"  # of the queue that was asked about
    kind: str = ""  # of storage: ext4, nfs 4.2, s3, postgres 16.2 …
    options: list[str] = field(default_factory=list)  # of its mount, those that matter between hosts
    findings: list[Finding] = field(default_factory=list)
    figures: dict[str, float] = field(default_factory=dict)
    advice: list[str] = field(default_factory=list)
    hosts: int = 1
    steps: str = "rename"  # or "marker": how file: queues there must take them
    begun: float = 0.0  # boottime
    seconds: float = 0.0

    @property
    def verdict(self) -> Verdict:
        return verdict_of(self.findings)

    @property
    def untried(self) -> list[Finding]:
        """What was in the way."""
        return _untried(self.findings)

    @property
    def deciding(self) -> Finding | None:
        return deciding(self.findings)

    @property
    def reason(self) -> str:
        return reason_of(self.deciding)

    @property
    def remedy(self) -> str:
        found = self.deciding
        if found is None:
            return "`dibs doctor` with --hosts 2 here and --join on another host tries that too"
        return found.remedy

    @property
    def lasting(self) -> bool:
        """It tells what the place is like, not what was in the way just now."""
        return self.verdict is not Verdict.NONE

    @property
    def warnings(self) -> list[Finding]:
        return [one for one in self.findings if one.level is Level.WARNING]

    @property
    def safe(self) -> bool:
        """For as many hosts as took part."""
        return self.verdict is Verdict.MANY or (self.verdict is Verdict.ONE and self.hosts == 1)

    def to_json(self) -> dict[str, Any]:
        record = asdict(self)
        record["findings"] = [asdict(finding) for finding in self.findings]
        record["seconds"] = round(self.seconds, 1)
        del record["begun"]
        return {**record, "verdict": str(self.verdict), "safe": self.safe, "reason": self.reason, "remedy": self.remedy}


def verdict_of(findings: list[Finding]) -> Verdict:
    lasting = [one for one in findings if not one.passing]
    if any(one.level is Level.BAD for one in lasting):
        return Verdict.UNSAFE
    if _untried(findings):
        return Verdict.NONE
    if any(one.level is Level.ONE_HOST for one in lasting) or not any(one.many for one in lasting):
        return Verdict.ONE
    return Verdict.MANY


def deciding(findings: list[Finding]) -> Finding | None:
    """The finding that the verdict rests on."""
    verdict = verdict_of(findings)
    if verdict is Verdict.NONE:
        return _untried(findings)[0]
    lasting = [one for one in findings if not one.passing]
    wanted = {Verdict.UNSAFE: Level.BAD, Verdict.ONE: Level.ONE_HOST}.get(verdict)
    return next((one for one in lasting if one.level is wanted or (wanted is None and one.many)), None)


def reason_of(found: Finding | None) -> str:
    if found is None:
        return "nothing wrong was found here, and what several hosts would see was not tried"
    return f"{found.check}: {found.happened}"


def _untried(findings: list[Finding]) -> list[Finding]:
    return [one for one in findings if one.passing and one.level in (Level.BAD, Level.ONE_HOST)]
