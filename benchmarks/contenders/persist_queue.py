"""persist-queue: its file queue and its SQLite queue with acknowledgement.

The file queue keeps its position in memory: a second process would hand out the same tasks, so it runs with
one. The SQLite queue syncs every commit and offers no setting for it; to compare at equal durability the
drain lowers it on its connection. It reads past every finished row at each claim, hence the limit.
"""

from collections.abc import Iterator
from typing import Any

from benchmarks.contenders.contender import Contender


class PersistQueueFile(Contender):
    name = "persist-queue, file"
    module = "persistqueue"
    drain_durability = "not synced"
    push_durability = "synced once in 100 tasks"
    shared = False
    note = "one process only: its position is kept in memory"

    def fill(self, folder: str, payloads: list[bytes]) -> None:
        self.push(self.open(folder), payloads)

    def open(self, folder: str, rank: int = 0, ranks: int = 1) -> Any:
        import persistqueue

        return persistqueue.Queue(folder, tempdir=folder)

    def drain(self, handle: Any) -> Iterator[bytes]:
        while handle.qsize():
            data = handle.get(block=False)
            handle.task_done()
            yield data

    def push(self, handle: Any, payloads: list[bytes]) -> None:
        for data in payloads:
            handle.put(data)


class PersistQueueSqlite(Contender):
    name = "persist-queue, SQLite ack"
    module = "persistqueue"
    push_durability = "WAL, synchronous=FULL (its own)"
    limit = 2000
    note = "slows down with length; select and update are two steps, so processes may take the same task"

    def __init__(self, synchronous: str = "NORMAL") -> None:
        self.synchronous = synchronous
        self.drain_durability = f"WAL, synchronous={synchronous}"

    def fill(self, folder: str, payloads: list[bytes]) -> None:
        self.push(self.open(folder), payloads)

    def open(self, folder: str, rank: int = 0, ranks: int = 1) -> Any:
        import persistqueue

        queue = persistqueue.SQLiteAckQueue(folder, auto_resume=False, timeout=60, multithreading=False)
        queue._putter.execute(f"PRAGMA synchronous={self.synchronous}")
        return queue

    def drain(self, handle: Any) -> Iterator[bytes]:
        import persistqueue

        while True:
            try:
                item = handle.get(block=False, raw=True)
            except persistqueue.Empty:
                return
            handle.ack(id=item["pqid"])
            yield item["data"]

    def push(self, handle: Any, payloads: list[bytes]) -> None:
        for data in payloads:
            handle.put(data)
