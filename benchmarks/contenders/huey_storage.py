"""huey's file and SQLite storages, at the storage level: enqueue and dequeue of bytes.

This is huey's fastest path, below its serialiser and consumer. A dequeue deletes: there is no claim, so a
worker that dies loses the task; huey does one step where the others do two.
"""

from collections.abc import Iterator
from typing import Any

from benchmarks.contenders.contender import Contender


class HueyStorage(Contender):
    module = "huey"
    note = "dequeue deletes: a worker that dies loses its task"

    def drain(self, handle: Any) -> Iterator[bytes]:
        while (data := handle.dequeue()) is not None:
            yield data

    def push(self, handle: Any, payloads: list[bytes]) -> None:
        for data in payloads:
            handle.enqueue(data)

    def fill(self, folder: str, payloads: list[bytes]) -> None:
        self.push(self.open(folder), payloads)


class HueyFile(HueyStorage):
    name = "huey, files"
    drain_durability = "not synced"
    push_durability = "not synced"
    limit = 2000
    note = HueyStorage.note + "; lists everything at each dequeue, so it slows down with length"

    def open(self, folder: str, rank: int = 0, ranks: int = 1) -> Any:
        from huey.storage import FileStorage

        return FileStorage("bench", f"{folder}/huey")


class HueySqlite(HueyStorage):
    """Its `fsync` knows FULL and OFF; NORMAL, dibs' own durability, is set on its connection."""

    def __init__(self, synchronous: str = "NORMAL") -> None:
        self.synchronous = synchronous
        self.equal_durability = synchronous != "OFF"
        self.name = f"huey, SQLite {synchronous}"
        self.drain_durability = self.push_durability = f"WAL, synchronous={synchronous}"

    def open(self, folder: str, rank: int = 0, ranks: int = 1) -> Any:
        from huey.storage import SqliteStorage

        storage = SqliteStorage("bench", f"{folder}/huey.db", timeout=60)
        storage.conn.execute(f"PRAGMA synchronous={self.synchronous}")
        return storage
