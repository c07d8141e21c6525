"""What the doctor leaves behind: a small hidden file, `.dibs-doctor.json`, in the folder that it looked at, or in the
nearest above where that is not there yet.

It counts for that folder and all below it on the same file system.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from dibs.clock import Clock, iso
from dibs.doctor.folders.mounts import existing, mount_of
from dibs.doctor.report import Report, Verdict
from dibs.errors import BadInput
from dibs.queues.files.advice import NAME
from dibs.task import decode, encode
from dibs.values import dataclass


@dataclass(frozen=True, slots=True)
class Note:
    verdict: Verdict
    reason: str
    at: str
    path: str
    steps: str = "rename"


def leave(folder: str, report: Report, clock: Clock) -> str | None:
    """The path of the note; None where it could not be written, which does no harm."""
    record: dict[str, Any] = {
        "verdict": str(report.verdict),
        "reason": report.reason,
        "steps": report.steps,
        "kind": report.kind,
        "hosts": report.hosts,
        "figures": report.figures,
        "at": iso(clock.wall()),
    }
    path = f"{existing(folder)}/{NAME}"
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


def found(folder: str) -> Note | None:
    """The nearest note, in `folder` or above, about the file system that `folder` is on now."""
    shown = mount_of(os.path.abspath(folder)).shown
    for path in _paths(folder):
        read = _read(path)
        if read is not None and read[0] == shown:  # else another file system is mounted there since
            return read[1]
    return None


def unreadable(folder: str) -> str:
    """The path of the nearest that is there but says nothing, if there is one."""
    return next((path for path in _paths(folder) if os.path.lexists(path) and _read(path) is None), "")


def _paths(folder: str) -> Iterator[str]:
    """Where one may be: in the folder, and above on the same file system."""
    path = os.path.abspath(folder)
    while True:
        yield f"{path}/{NAME}"
        above = os.path.dirname(path)
        if above == path or os.path.ismount(path):
            return
        path = above


def _read(path: str) -> tuple[str, Note] | None:
    """(the kind of file system, what was found)"""
    try:
        with open(path, "rb") as file:
            record = decode(file.read())
        verdict, steps = Verdict(record["verdict"]), str(record.get("steps", "rename"))
        return record["kind"], Note(verdict, str(record["reason"]), str(record["at"]), path, steps)
    except (OSError, BadInput, KeyError, TypeError, ValueError, AttributeError):
        return None
