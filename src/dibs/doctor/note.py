"""What the doctor leaves behind: a small hidden file, `.dibs-doctor.json`, in the folder that it looked at.

It counts for that folder and all below it on the same file system.
"""

import os
from contextlib import suppress
from typing import Any

from dibs.clock import Clock, iso
from dibs.doctor.folders.mounts import mount_of
from dibs.doctor.report import Report, Verdict
from dibs.errors import BadInput
from dibs.task import decode, encode
from dibs.values import dataclass

NAME = ".dibs-doctor.json"


@dataclass(frozen=True, slots=True)
class Note:
    verdict: Verdict
    reason: str
    at: str
    path: str


def leave(folder: str, report: Report, clock: Clock) -> str | None:
    """The path of the note; None where it could not be written, which does no harm."""
    record: dict[str, Any] = {
        "verdict": str(report.verdict),
        "reason": report.reason,
        "kind": report.kind,
        "hosts": report.hosts,
        "figures": report.figures,
        "at": iso(clock.wall()),
    }
    path = f"{folder}/{NAME}"
    with suppress(OSError):
        with open(f"{path}.{os.getpid()}", "wb") as file:
            file.write(encode(record))
        os.replace(f"{path}.{os.getpid()}", path)
        return path
    return None


def found(folder: str) -> Note | None:
    """The nearest note, in `folder` or above, about the file system that `folder` is on now."""
    path = os.path.abspath(folder)
    shown = mount_of(path).shown
    while True:
        note = _read(f"{path}/{NAME}", shown)
        above = os.path.dirname(path)
        if note is not None or above == path or os.path.ismount(path):
            return note
        path = above


def _read(path: str, shown: str) -> Note | None:
    try:
        with open(path, "rb") as file:
            record = decode(file.read())
        if record["kind"] != shown:
            return None  # another file system is mounted there since
        return Note(Verdict(record["verdict"]), str(record["reason"]), str(record["at"]), path)
    except (OSError, BadInput, KeyError, TypeError, ValueError):
        return None
