"""A queue written straight onto psycopg: one statement claims, one finishes, or one does both for the next task.

No leases, no expiry, no history.
"""

import json
import time

from benchmarks.postgres.contender import Contender, Document, chunks, run

CREATE = """
CREATE TABLE tasks (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, state smallint NOT NULL DEFAULT 0, payload text NOT NULL
);
CREATE INDEX ready ON tasks (id) WHERE state = 0;
"""
PUSH = "INSERT INTO tasks (payload) VALUES (%s)"
PUSH_MANY = "INSERT INTO tasks (payload) SELECT unnest(%s::text[])"
CLAIM = """
UPDATE tasks SET state = 1
WHERE id = ANY(ARRAY(SELECT id FROM tasks WHERE state = 0 ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED))
RETURNING id, payload
"""
FINISH = "UPDATE tasks SET state = 2 WHERE id = %s"
CHAIN = f"WITH finished AS ({FINISH}) {CLAIM}"
FINISH_MANY = "UPDATE tasks SET state = 2 WHERE id = ANY(%s)"


class Floor(Contender):
    kind = "floor"
    database = "bench_raw"
    modules = ("psycopg",)
    leaves = True
    unfinished = "SELECT count(*) FROM tasks WHERE state <> 2"

    def __init__(self, batch: int = 1, chained: bool = False) -> None:
        self.batch = batch
        self.batched = batch > 1
        self.chained = chained
        self.pushes = not self.batched and not chained
        way = f", batches of {batch}" if self.batched else ", one statement a task" if chained else ""
        self.name = "psycopg, raw loop" + way

    def install(self, url: str) -> None:
        import psycopg

        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(CREATE)

    def push(self, url: str, documents: list[Document], batch: int) -> float:
        import psycopg

        with psycopg.connect(url, autocommit=True) as connection:
            begun = time.perf_counter()
            if batch == 1:
                for document in documents:
                    connection.execute(PUSH, (json.dumps(document),))
            else:
                for chunk in chunks(documents, batch):
                    connection.execute(PUSH_MANY, ([json.dumps(document) for document in chunk],))
            return time.perf_counter() - begun

    def work(self, url: str, setting: int) -> None:
        import psycopg

        with psycopg.connect(url, autocommit=True) as connection:
            rows = connection.execute(CLAIM, (self.batch,)).fetchall()
            while rows:
                for row in rows:
                    run(json.loads(row[1]))
                if self.chained:
                    rows = connection.execute(CHAIN, (rows[0][0], 1)).fetchall()
                    continue
                if self.batched:
                    connection.execute(FINISH_MANY, ([row[0] for row in rows],))
                else:
                    connection.execute(FINISH, (rows[0][0],))
                rows = connection.execute(CLAIM, (self.batch,)).fetchall()
