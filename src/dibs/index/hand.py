"""A process of a crew: `python -m dibs.index.hand`, with the list of shards as its standard input.

It tells of each shard on its standard output, a line of JSON each. What fails it leaves to whoever started it, who will
meet the same.
"""

import json
import os
import signal
import sys
from collections.abc import Iterator

from dibs.errors import DibsError
from dibs.index.compactor import Done
from dibs.index.parts import Damage

_LONGEST_START = 1 << 16


def names(descriptor: int, width: int) -> Iterator[str]:
    """What nobody has taken yet: all who have the list open share their place in it."""
    while name := os.read(descriptor, width):
        yield name.decode()


def to_json(done: Done) -> bytes:
    return json.dumps({**done._asdict(), "damages": [damage._asdict() for damage in done.damages]}).encode() + b"\n"


def from_json(line: bytes) -> Done:
    found = json.loads(line)
    return Done(**{**found, "damages": tuple(Damage(**damage) for damage in found["damages"])})


def main() -> int:
    from dibs.index.index import Index

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # not at once: the lock is given back first
    start = json.loads(os.pread(0, _LONGEST_START, 0).partition(b"\n")[0])
    try:
        with Index(start["url"], create=False, ttl=start["ttl"]) as index:
            for done in index.compact_these(names(0, start["width"])):
                os.write(1, to_json(done))
    except (DibsError, BrokenPipeError):
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
