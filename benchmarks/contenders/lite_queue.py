"""litequeue: a queue in one SQLite table. It runs with synchronous=NORMAL; the durable push raises that to FULL.

A claim gets slower with the number of messages that are done, hence the limit.
"""

from collections.abc import Iterator
from typing import Any

from benchmarks.contenders.contender import Contender


class LiteQueue(Contender):
    name = "litequeue"
    module = "litequeue"
    limit = 2000
    note = "slows down with length"

    def __init__(self, synchronous: str = "NORMAL") -> None:
        self.synchronous = synchronous
        self.drain_durability = self.push_durability = f"WAL, synchronous={synchronous}"

    def fill(self, folder: str, payloads: list[bytes]) -> None:
        queue = self.open(folder)
        with queue.transaction():
            self.push(queue, payloads)

    def open(self, folder: str, rank: int = 0, ranks: int = 1) -> Any:
        from litequeue import LiteQueue as Queue

        queue = Queue(f"{folder}/queue.db", timeout=60)
        queue.conn.execute(f"PRAGMA synchronous={self.synchronous}")
        return queue

    def drain(self, handle: Any) -> Iterator[str]:
        while (message := handle.pop()) is not None:
            handle.done(message.message_id)
            yield message.data

    def push(self, handle: Any, payloads: list[bytes]) -> None:
        for data in payloads:
            handle.put(data.decode())
