"""A process that writes to an index, or compacts it, until it is done or killed.

    python -m index.worker write URL LOG NUMBER BATCHES RECORDS KEYS
    python -m index.worker compact URL

Batch n of a writer is the same whenever it is written, so one that was killed does its last batch again, and what there
must be in the end can be worked out from the numbers alone.
"""

import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from dibs.index.index import Index

BEGIN = 1_790_000_000


class Write(NamedTuple):
    key: str
    at: int  # microseconds since 1970
    time: str  # the same, in some form
    fields: dict[str, str | None] | None  # None: a deletion


def batch(number: int, turn: int, records: int, keys: int) -> Iterator[Write]:
    rng = random.Random(f"{number} {turn}")
    for place in range(records):
        at = BEGIN * 1_000_000 + rng.randrange(5_000) * 1_000
        fields: dict[str, str | None] | None = {
            "title": rng.choice(["plain", "", None, "\\N", "two\nlines", "unit\x1f", "é"]),
            "by": f"{number}.{turn}.{place}",
        }
        if place == 0:
            fields = None
        yield Write(f"host{rng.randrange(keys)}.example", at, _text(at, rng), fields)


def _text(at: int, rng: random.Random) -> str:
    from datetime import UTC, datetime, timedelta, timezone

    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at)
    form = rng.randrange(3)
    if form == 0:
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if form == 1:
        return moment.astimezone(timezone(timedelta(hours=5, minutes=30))).isoformat(timespec="microseconds")
    return f"{at // 1_000_000}.{at % 1_000_000:06d}"


def write(url: str, log: str, number: int, batches: int, records: int, keys: int) -> None:
    done = len(Path(log).read_bytes()) if os.path.exists(log) else 0
    with Index(url, create=False) as index, open(log, "ab", buffering=0) as file:
        for turn in range(done, batches):
            deletion, *others = batch(number, turn, records, keys)
            index.put_many(_record(one) for one in others)
            index.delete(deletion.key, updated_at=deletion.time)
            file.write(b".")


def _record(one: Write) -> dict[str, Any]:
    return {"key": one.key, "updated_at": one.time, **(one.fields or {})}


def compact(url: str) -> None:
    with Index(url, create=False) as index:
        for _ in index.compact_watch(idle=0.2):
            pass


if __name__ == "__main__":
    what, url, *rest = sys.argv[1:]
    if what == "write":
        write(url, rest[0], *map(int, rest[1:]))  # type: ignore[arg-type, call-arg]
    else:
        compact(url)
