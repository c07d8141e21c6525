"""What the doctor leaves behind: a small hidden file, `.dibs-doctor.json`, in the folder that it looked at, or in the
nearest above where that is not there yet.

It counts for that folder and all below it on the same file system, and keeps the findings that decide: so a queue of
another kind is judged by what concerns it, and who looks again alone does not replace what several hosts have found.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from dibs.clock import Clock, iso
from dibs.doctor.finding import Finding, Level
from dibs.doctor.folders.mounts import existing, mount_of
from dibs.doctor.report import Report, Verdict, deciding, reason_of, verdict_of
from dibs.errors import BadInput
from dibs.queues.files.advice import NAME
from dibs.task import decode, encode
from dibs.values import asdict, dataclass, replace

_DECIDE = (Level.BAD, Level.ONE_HOST)


@dataclass(frozen=True, slots=True)
class Note:
    path: str
    at: str
    kind: str
    options: list[str]  # of the mount, those that matter
    findings: list[Finding]

    def verdict(self, *, locks: bool) -> Verdict:
        """`locks`: for queues that rest on them."""
        return verdict_of(self._for(locks))

    def reason(self, *, locks: bool) -> str:
        return reason_of(deciding(self._for(locks)))

    @property
    def hosts(self) -> int:
        """How many have found it together."""
        return max((one.between for one in self.findings), default=0) or 1

    @property
    def steps(self) -> str:
        return "marker" if any(one.marker for one in self.findings) else "rename"

    def _for(self, locks: bool) -> list[Finding]:
        return [
            one if one.locks is None else replace(one, level=one.locks if locks else Level.WARNING)
            for one in self.findings
        ]


def leave(folder: str, report: Report, clock: Clock) -> str | None:
    """The path of the note; None where it could not be written, which does no harm."""
    path = f"{existing(folder)}/{NAME}"
    found = [*_deciding(report), *_kept(folder, report)]
    note = Note(path, iso(clock.wall()), report.kind, report.options, found)
    record: dict[str, Any] = {
        "verdict": str(verdict_of(found)),
        "reason": reason_of(deciding(found)),
        "for": report.scheme,
        "steps": note.steps,
        "kind": note.kind,
        "options": note.options,
        "hosts": note.hosts,
        "findings": [asdict(one) for one in found],
        "figures": report.figures,
        "at": note.at,
    }
    aside = f"{path}.{os.getpid()}"
    try:
        with open(aside, "wb") as file:
            file.write(encode(record))
        os.replace(aside, path)
        return path
    except OSError:
        with suppress(OSError):
            os.unlink(aside)
        return None


def remembered(folder: str, report: Report) -> list[str]:
    """Lines about what stays of an earlier examination by more hosts."""
    kept = _kept(folder, report)
    first = deciding(kept)
    if first is None:
        return []
    return [f"{first.between} hosts found here before: {first.check}: {first.happened}; that stays in the note"]


def found(folder: str) -> Note | None:
    """The nearest note, in `folder` or above, about the file system that `folder` is on now."""
    shown = mount_of(os.path.abspath(folder)).shown
    notes = (_read(path) for path in _paths(folder))
    return next((note for note in notes if note is not None and note.kind == shown), None)  # else mounted there since


def unreadable(folder: str) -> str:
    """The path of the nearest that is there but says nothing, if there is one."""
    return next((path for path in _paths(folder) if os.path.lexists(path) and _read(path) is None), "")


def _deciding(report: Report) -> list[Finding]:
    return [
        one
        for one in report.findings
        if not one.passing and (one.level in _DECIDE or one.many or one.marker or one.locks is not None)
    ]


def _kept(folder: str, report: Report) -> list[Finding]:
    """What more hosts than now have found between them, of the same kind of mount."""
    earlier = found(existing(folder))
    if earlier is None or (earlier.kind, earlier.options) != (report.kind, report.options):
        return []
    now = max((one.between for one in report.findings), default=0)
    return [one for one in earlier.findings if one.between > max(1, now)]


def _paths(folder: str) -> Iterator[str]:
    """Where one may be: in the folder, and above on the same file system."""
    path = os.path.abspath(folder)
    while True:
        yield f"{path}/{NAME}"
        above = os.path.dirname(path)
        if above == path or os.path.ismount(path):
            return
        path = above


def _read(path: str) -> Note | None:
    try:
        with open(path, "rb") as file:
            record = decode(file.read())
        findings = [_finding(one) for one in record["findings"]] if "findings" in record else [_older(record)]
        return Note(path, str(record["at"]), str(record["kind"]), list(record.get("options", ())), findings)
    except (OSError, BadInput, KeyError, TypeError, ValueError, AttributeError):
        return None


def _finding(record: dict[str, Any]) -> Finding:
    locks = record["locks"]
    return Finding(**{**record, "level": Level(record["level"]), "locks": None if locks is None else Level(locks)})


def _older(record: dict[str, Any]) -> Finding:
    """Of a note that has the verdict alone."""
    verdict = Verdict(record["verdict"])
    check, _, happened = str(record["reason"]).partition(": ")
    return Finding(
        check=check,
        tried="",
        happened=happened,
        level={Verdict.UNSAFE: Level.BAD, Verdict.ONE: Level.ONE_HOST}.get(verdict, Level.GOOD),
        many=verdict is Verdict.MANY,
        between=int(record["hosts"]),
        marker=record.get("steps") == "marker",
    )
