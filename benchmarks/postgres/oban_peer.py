"""Oban for Python: its open-source worker, with the loop and the JSON that its own command sets."""

import sys
import time
from typing import Any

from benchmarks.postgres.contender import Contender, Document, chunks, run


class Oban(Contender):
    name = "oban"
    database = "bench_oban"
    modules = ("oban", "uvloop")
    batched = True
    tried = (10, 100, 1000)
    usual = 1000
    limit = 10_000
    setting_means = "limit of the queue"
    unfinished = "SELECT count(*) FROM oban_jobs WHERE state <> 'completed'"
    note = "the open-source worker; fetches as many jobs as its limit leaves room for, finishes them in one transaction"

    def missing(self) -> str | None:
        if sys.version_info < (3, 12):
            return f"it needs Python 3.12, and this is {sys.version_info.major}.{sys.version_info.minor}"
        return super().missing()

    def install(self, url: str) -> None:
        _run(_install(url))

    def push(self, url: str, documents: list[Document], batch: int) -> float:
        seconds: float = _run(_push(url, documents, batch))
        return seconds

    def work(self, url: str, setting: int) -> None:
        _run(_work(url, setting))


def _run(work: Any) -> Any:
    import orjson
    import uvloop
    from psycopg.types.json import set_json_dumps, set_json_loads

    set_json_dumps(orjson.dumps)
    set_json_loads(orjson.loads)
    return uvloop.run(work)


def _pool(url: str) -> Any:
    from psycopg_pool import AsyncConnectionPool

    return AsyncConnectionPool(conninfo=url, min_size=2, max_size=10, open=False)


def _worker() -> Any:
    from oban import worker

    @worker(queue="bench")
    class Noop:
        async def process(self, job: Any) -> None:
            run(job.args)

    return Noop


async def _install(url: str) -> None:
    from oban.schema import install

    async with _pool(url) as pool:
        await install(pool)


async def _push(url: str, documents: list[Document], batch: int) -> float:
    from oban import Oban as Application

    noop = _worker()
    async with _pool(url) as pool:
        application = Application(pool=pool)
        begun = time.perf_counter()
        if batch == 1:
            for document in documents:
                await application.enqueue(noop.new(document))
        else:
            for chunk in chunks(documents, batch):
                await application.enqueue_many([noop.new(document) for document in chunk])
        return time.perf_counter() - begun


async def _work(url: str, limit: int) -> None:
    import asyncio

    from oban import Oban as Application

    _worker()
    async with _pool(url) as pool, Application(pool=pool, queues={"bench": limit}):
        await asyncio.Event().wait()
