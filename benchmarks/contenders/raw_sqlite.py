"""A queue written straight onto SQLite in WAL mode: what one would write by hand, without leases or expiry.

synchronous=NORMAL gives what dibs gives: after a power cut a finished task may run again, none is lost. OFF is
shown too; it may lose the whole database.
"""

import sqlite3
from collections.abc import Iterator
from typing import Any

from benchmarks.contenders.contender import Contender

CREATE = """
CREATE TABLE IF NOT EXISTS tasks (id INTEGER PRIMARY KEY, state INTEGER NOT NULL, payload BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS ready ON tasks (id) WHERE state = 0;
"""
CLAIM = """
UPDATE tasks SET state = 1 WHERE id IN (SELECT id FROM tasks WHERE state = 0 ORDER BY id LIMIT ?)
RETURNING id, payload
"""


class RawSqlite(Contender):
    def __init__(self, batch: int = 1, synchronous: str = "NORMAL") -> None:
        self.batch = batch
        self.synchronous = synchronous
        self.equal_durability = synchronous != "OFF"
        self.name = f"SQLite WAL {synchronous}" + (f", batches of {batch}" if batch > 1 else "")
        self.drain_durability = self.push_durability = f"WAL, synchronous={synchronous}"

    def fill(self, folder: str, payloads: list[bytes]) -> None:
        connection = self.open(folder)
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO tasks (state, payload) VALUES (0, ?)", [(data,) for data in payloads])
        connection.execute("COMMIT")
        connection.close()

    def open(self, folder: str, rank: int = 0, ranks: int = 1) -> Any:
        connection = sqlite3.connect(f"{folder}/tasks.db", timeout=60, isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA synchronous={self.synchronous}")
        connection.executescript(CREATE)
        return connection

    def drain(self, handle: sqlite3.Connection) -> Iterator[bytes]:
        while True:
            handle.execute("BEGIN IMMEDIATE")
            rows = handle.execute(CLAIM, (self.batch,)).fetchall()
            handle.execute("COMMIT")
            if not rows:
                return
            if self.batch == 1:
                handle.execute("DELETE FROM tasks WHERE id = ?", (rows[0][0],))
            else:
                handle.execute("BEGIN IMMEDIATE")
                handle.executemany("DELETE FROM tasks WHERE id = ?", [(row[0],) for row in rows])
                handle.execute("COMMIT")
            for row in rows:
                yield row[1]

    def push(self, handle: sqlite3.Connection, payloads: list[bytes]) -> None:
        for start in range(0, len(payloads), self.batch):
            rows = [(data,) for data in payloads[start : start + self.batch]]
            handle.execute("BEGIN IMMEDIATE")
            handle.executemany("INSERT INTO tasks (state, payload) VALUES (0, ?)", rows)
            handle.execute("COMMIT")
