"""The record of a key: which task has it, and who was pushing that when."""

import hashlib
from typing import Any, NamedTuple

from dibs.errors import BadInput
from dibs.stores.store import Entry
from dibs.task import decode


class KeyCell(NamedTuple):
    id: str
    state: str  # pushing, live, completed, failed, cancelled, free
    at: float  # the store's time
    boot: str
    beat: float  # boottime of `boot`
    space: str
    pid: int
    start: str
    done: str  # the last task of the key that completed before this one
    version: str


def cell_name(key: str) -> str:
    digest = hashlib.sha256(key.encode()).hexdigest()
    return f"keys/{digest[:2]}/{digest}"


def parse(entry: Entry) -> KeyCell:
    """A damaged cell names no task and can be taken over."""
    try:
        record: Any = decode(entry.data)
        return KeyCell(
            id=str(record["id"]),
            state=str(record["state"]),
            at=float(record["at"]),
            boot=str(record["boot"]),
            beat=float(record["beat"]),
            space=str(record["space"]),
            pid=int(record["pid"]),
            start=str(record["start"]),
            done=str(record.get("done", "")),
            version=entry.version,
        )
    except (BadInput, KeyError, TypeError, ValueError):
        return KeyCell("", "free", 0.0, "", 0.0, "", 0, "", "", entry.version)
