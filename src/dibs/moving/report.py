"""What a move or a copy has done, and what it left."""

from typing import Any

from dibs.values import asdict, dataclass, field

MOST_REFUSALS = 100


@dataclass(frozen=True, slots=True)
class Refusal:
    """A task that was not sent, or was not let in as it stood."""

    id: str
    key: str | None
    reason: str


@dataclass(slots=True, kw_only=True)
class Report:
    """Counts. In a dry run, of what would be done."""

    source: str
    target: str
    copy: bool = False
    dry_run: bool = False
    sent: dict[str, int] = field(default_factory=dict)  # by the state that they had, those included that were there
    there: int = 0  # of those: the target had them already
    along: int = 0  # finished tasks that others wait for, copied too
    confirmed: int = 0  # looked up in the target afterwards, and found
    returned: int = 0  # an earlier move from the target to the source had been broken off, and was finished first
    held_back: int = 0  # they wait for tasks that stay in the source for now
    refusals: list[Refusal] = field(default_factory=list)  # the first hundred
    refused: int = 0
    left: dict[str, int] = field(default_factory=dict)  # in the source, afterwards: live and failed tasks by state
    on_the_way: int = 0  # taken out of the source, and not in the target
    elsewhere: dict[str, int] = field(default_factory=dict)  # in the source, on their way to other queues

    @property
    def total(self) -> int:
        return sum(self.sent.values())

    @property
    def verified(self) -> bool:
        """Everything sent was seen in the target before it was deleted from the source, and nothing is in between."""
        return self.dry_run or (self.confirmed == self.total + self.along and not self.on_the_way)

    def refuse(self, refusal: Refusal) -> None:
        self.refused += 1
        if len(self.refusals) < MOST_REFUSALS:
            self.refusals.append(refusal)

    def to_json(self) -> dict[str, Any]:
        record = asdict(self)
        record["refusals"] = [asdict(refusal) for refusal in self.refusals]
        return {**record, "total": self.total, "verified": self.verified}
