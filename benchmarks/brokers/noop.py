"""The task that every worker runs: it does nothing but note that it ran.

The notes lie in memory shared through files in the folder `BENCH_NOTES`: a byte a task, to see
that each ran once, and a slot a thread with its first run, last run and count. Writing them costs less than
a microsecond, and all contenders pay it alike.
"""

import mmap
import os
import struct
import threading
import time
from typing import Any

SLOT = struct.Struct("ddq")
FOLDER = "BENCH_NOTES"

_local = threading.local()
_ran: mmap.mmap | None = None


def note(number: int) -> None:
    global _ran
    now = time.perf_counter()
    if _ran is None:
        _ran = _shared("ran")
    try:
        slot, first, count = _local.slot, _local.first, _local.count
    except AttributeError:
        path = f"{os.environ[FOLDER]}/slot-{os.getpid()}-{threading.get_ident()}"
        with open(path, "wb") as file:
            file.write(bytes(SLOT.size))
        slot, first, count = _shared(os.path.basename(path)), now, 0
        _local.slot, _local.first = slot, first
    _local.count = count + 1
    _ran[number] += 1
    SLOT.pack_into(slot, 0, first, now, count + 1)


def run(payload: Any) -> None:
    """For `dibs work --call benchmarks.brokers.noop:run`."""
    note(payload["n"])


def _shared(name: str) -> mmap.mmap:
    with open(f"{os.environ[FOLDER]}/{name}", "r+b") as file:
        return mmap.mmap(file.fileno(), 0)
