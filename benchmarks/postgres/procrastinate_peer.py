"""Procrastinate: an asynchronous worker on psycopg's pool, that keeps finished jobs as dibs does."""

import asyncio
import time
from typing import Any

from benchmarks.postgres.contender import Contender, Document, chunks, run


class Procrastinate(Contender):
    name = "Procrastinate"
    database = "bench_procrastinate"
    modules = ("procrastinate",)
    tried = (1, 4, 10, 30)
    usual = 10
    setting_means = "concurrency"
    unfinished = "SELECT count(*) FROM procrastinate_jobs WHERE status <> 'succeeded'"
    note = (
        "fetches and finishes each job with a statement of its own, many at once; pushed by its synchronous connector"
    )

    def install(self, url: str) -> None:
        with _synchronous(url).open() as app:
            app.schema_manager.apply_schema()

    def push(self, url: str, documents: list[Document], batch: int) -> float:
        with _synchronous(url).open() as app:
            task = app.tasks["noop"]
            begun = time.perf_counter()
            if batch == 1:
                for document in documents:
                    task.defer(**document)
            else:
                for chunk in chunks(documents, batch):
                    task.batch_defer(*chunk)
            return time.perf_counter() - begun

    def work(self, url: str, setting: int) -> None:
        asyncio.run(_work(url, setting))


async def _work(url: str, concurrency: int) -> None:
    """With a pool of our own: the one that it makes asks of each connection whether it lives, every time."""
    import procrastinate
    from psycopg_pool import AsyncConnectionPool

    pool = AsyncConnectionPool(conninfo=url, min_size=4, max_size=min(concurrency, 10) + 4, open=False)
    async with pool, _app(procrastinate.PsycopgConnector()).open_async(pool) as app:
        await app.run_worker_async(concurrency=concurrency)


def _synchronous(url: str) -> Any:
    import procrastinate

    return _app(procrastinate.SyncPsycopgConnector(conninfo=url, min_size=1))


def _app(connector: Any) -> Any:
    import procrastinate

    app = procrastinate.App(connector=connector)

    @app.task(name="noop")
    async def noop(n: int, pad: str) -> None:
        run({"n": n})

    return app
