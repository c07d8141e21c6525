"""PgQueuer on asyncpg and uvloop, as its own command runs it; it fetches and finishes jobs in batches."""

import json
import time
from typing import Any

from benchmarks.postgres.contender import Contender, Document, chunks, run


class PgQueuer(Contender):
    name = "PgQueuer"
    database = "bench_pgqueuer"
    modules = ("pgqueuer", "asyncpg", "uvloop")
    batched = True
    tried = (10, 100, 1000)
    usual = 1000
    setting_means = "batch size"
    unfinished = "SELECT count(*) FROM pgqueuer"
    note = "asyncpg and uvloop; fetches and finishes jobs in batches"

    def install(self, url: str) -> None:
        _run(_install(url))

    def push(self, url: str, documents: list[Document], batch: int) -> float:
        seconds: float = _run(_push(url, documents, batch))
        return seconds

    def work(self, url: str, setting: int) -> None:
        _run(_work(url, setting))


def _run(work: Any) -> Any:
    import uvloop

    return uvloop.run(work)


async def _install(url: str) -> None:
    import asyncpg
    from pgqueuer.db import AsyncpgDriver
    from pgqueuer.queries import Queries

    connection = await asyncpg.connect(url)
    await Queries(AsyncpgDriver(connection)).install()
    await connection.close()


async def _push(url: str, documents: list[Document], batch: int) -> float:
    import asyncpg
    from pgqueuer.db import AsyncpgDriver
    from pgqueuer.queries import Queries

    connection = await asyncpg.connect(url)
    queries = Queries(AsyncpgDriver(connection))
    begun = time.perf_counter()
    if batch == 1:
        for document in documents:
            await queries.enqueue("noop", json.dumps(document).encode())
    else:
        for chunk in chunks(documents, batch):
            count = len(chunk)
            payloads = [json.dumps(document).encode() for document in chunk]
            await queries.enqueue(["noop"] * count, payloads, [0] * count)
    seconds = time.perf_counter() - begun
    await connection.close()
    return seconds


async def _work(url: str, batch_size: int) -> None:
    import asyncpg
    from pgqueuer import PgQueuer as Application

    async with asyncpg.create_pool(url, min_size=2, max_size=4) as pool:
        application = Application.from_asyncpg_pool(pool)

        @application.entrypoint("noop")
        async def noop(job: Any) -> None:
            run(json.loads(job.payload))

        await application.run(batch_size=batch_size)
