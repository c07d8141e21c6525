"""What a process of a host does with an index until it is killed.

Write `turn` of a writer is the same whenever it is done, so one that was killed does its last again, and what there
must be in the end can be worked out from the numbers alone. Each writer has keys of its own, whose values only grow.
It notes of each the last value whose write has returned, so a reader knows what it must see at least.
"""

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dibs
from filesystems.hosts_roles import TTL

KEYS = 20  # of each writer
WRITERS = {"near": 0, "far": 1}
SHARDS = 16
SCANS = 0.05
BATCH = 8
_WIDTH = 8


def opened(url: str, ttl: float = TTL, **more: Any) -> dibs.Index:
    return dibs.Index(url, fields=["n"], shards=SHARDS, ttl=ttl, **more)


def main(role: str, url: str, logs: str, machine: str, name: str) -> None:
    """`name`: of this process's log, which a process that takes its place goes on with."""
    file = os.open(Path(logs, name), os.O_CREAT | os.O_WRONLY | os.O_APPEND)

    def log(line: str) -> object:
        return os.write(file, line.encode() + b"\n")

    try:
        with opened(url) as index:
            for word in ROLES[role](index, Notes(Path(logs)), machine):
                log(word)
    except Exception as error:
        log(f"broke {type(error).__name__}: {error}".replace("\n", " "))


def write_of(writer: int, turn: int) -> dict[str, int]:
    """Keys and values: a record, or a batch of them."""
    rng = random.Random(f"{writer} {turn}")
    count = rng.choice((1, 1, 1, BATCH))
    return {f"host{writer}-{number}.example": turn + 1 for number in rng.sample(range(KEYS), count)}


def replay(notes: "Notes") -> dict[str, int]:
    found: dict[str, int] = {}
    for name, writer in WRITERS.items():
        for turn in range(notes.get(name)):
            found |= write_of(writer, turn)
    return found


class Notes:
    """The last value of each key whose write has returned; 0 for none. And how many writes of a writer have."""

    def __init__(self, logs: Path) -> None:
        self._file = os.open(logs / "notes", os.O_RDWR | os.O_CREAT, 0o666)
        self.keys = sorted(f"host{writer}-{number}.example" for writer in WRITERS.values() for number in range(KEYS))
        self._places = {key: place for place, key in enumerate((*self.keys, *WRITERS))}

    def get(self, key: str) -> int:
        return int(os.pread(self._file, _WIDTH, self._places[key] * _WIDTH).strip(b"\0") or 0)

    def set(self, key: str, value: int) -> None:
        os.pwrite(self._file, b"%0*d" % (_WIDTH, value), self._places[key] * _WIDTH)

    def all(self) -> dict[str, int]:
        return {key: self.get(key) for key in self.keys}


def write(index: dibs.Index, notes: Notes, name: str) -> None:
    """The next turn, or the one that somebody died in."""
    turn = notes.get(name)
    records = write_of(WRITERS[name], turn)
    index.put_many({"key": key, "n": str(n), "updated_at": float(n)} for key, n in records.items())
    for key, n in records.items():
        notes.set(key, n)
    notes.set(name, turn + 1)


def write_on(index: dibs.Index, notes: Notes, name: str) -> Iterator[str]:
    while True:
        write(index, notes, name)
        yield "written"


def compact(index: dibs.Index, notes: Notes, name: str) -> Iterator[str]:
    for done in index.compact_watch(idle=0.05):
        yield done.outcome


def read(index: dibs.Index, notes: Notes, name: str) -> Iterator[str]:
    """What is wrong, or "read" for each that was right."""
    rng = random.Random()
    seen: dict[str, int] = {}
    while True:
        if rng.random() < SCANS:
            before = notes.all()
            found = {str(record["key"]): int(record["n"] or 0) for record in index.scan()}
        else:
            key = rng.choice(notes.keys)
            before = {key: notes.get(key)}
            record = index.get(key)
            found = {} if record is None else {key: int(record["n"] or 0)}
        for key, least in before.items():
            n = found.get(key, 0)
            if n < seen.get(key, 0):
                yield f"back {key}: {n} after {seen[key]}"
            elif n < least:
                yield f"gap {key}: {n}, though {least} was written"
            else:
                yield "read"
            seen[key] = max(n, seen.get(key, 0))


ROLES = {"write": write_on, "compact": compact, "read": read}
