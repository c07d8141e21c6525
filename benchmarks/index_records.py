"""Records of ten fields, as a crawler has them, and an index that holds them."""

import os
import random
import shutil
from collections.abc import Iterator

from dibs.index.index import Index

OWN = ("title", "type", "size", "score", "language", "state", "note", "about")
FIELDS = ("key", "updated_at", *OWN)


def record(number: int, day: int) -> dict[str, str | None]:
    return {
        "key": f"host{number:07d}.example.com",
        "updated_at": f"2026-11-{day:02d}T10:{number % 60:02d}:00.000000Z",
        "title": f"Title number {number} of day {day}",
        "type": "text/html",
        "size": str(number),
        "score": f"{number * 7919 % 1000003 / 1000003:.12f}",
        "language": "de",
        "state": "ok",
        "note": None if number % 3 else "x",
        "about": f"some longer description of the site {number}",
    }


def updates(count: int) -> Iterator[dict[str, str | None]]:
    """A tenth as many, nearly all of them of keys that are there, some of them older than what is there."""
    rng = random.Random(7)
    for number in rng.sample(range(count + count // 100), count // 10):
        yield record(number, rng.choice((1, 3, 4)))


def fill(folder: str, count: int, shards: int = 256) -> None:
    """An index of `count` records, all compacted."""
    with Index(f"{folder}?sync=off", fields=OWN, shards=shards) as index:
        index.put_many(record(number, 2) for number in range(count))
        index.compact()


def copied(folder: str, target: str) -> str:
    """A copy of it to merge into."""
    if os.path.exists(target):
        shutil.rmtree(target)
    shutil.copytree(folder, target)
    return target
