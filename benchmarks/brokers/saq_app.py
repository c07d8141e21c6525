"""SAQ's side: its default concurrency."""

from typing import Any

from saq import Queue

from benchmarks.brokers.async_peers import faster_loops
from benchmarks.brokers.broker import redis_url
from benchmarks.brokers.noop import run

faster_loops()
queue = Queue.from_url(redis_url(), name="bench")


async def noop(context: Any, *, payload: Any) -> None:
    run(payload)


settings = {"queue": queue, "functions": [("noop", noop)], "concurrency": 10}
