"""Changes of a queue that tells of none: all its tasks are read, and compared by what they say. Not too often."""

from binascii import crc32
from collections.abc import Iterator, Mapping

from dibs.queues.queue import Queue
from dibs.serve.masking import NOTHING_HIDDEN, Masking
from dibs.serve.search.sources import Change
from dibs.serve.search.words import of_task
from dibs.task import encode


class ScanSource:
    def __init__(self, queue: Queue, every: float, mask: Masking = NOTHING_HIDDEN) -> None:
        self._queue = queue
        self._mask = mask
        self._every = every
        self._scanned: float | None = None

    def forget(self) -> None:
        self._scanned = None

    def changes(self, known: Mapping[str, str]) -> Iterator[Change]:
        now = self._queue.clock.boottime()
        if self._scanned is not None and now - self._scanned < self._every:
            return
        there = set()
        for task in self._queue.tasks():
            if task.id in there:
                continue  # it moved on while they were read
            there.add(task.id)
            signature = f"{crc32(encode(task.to_json())):08x}"
            if known.get(task.id) != signature:
                yield Change(task.id, signature, of_task(self._mask.task(task)))
        for name in known.keys() - there:
            yield Change(name, "", None)
        self._scanned = now
