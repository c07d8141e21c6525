"""huey's side: a blocking pop, no results."""

from typing import Any

from huey import RedisHuey

from benchmarks.brokers.broker import redis_url
from benchmarks.brokers.noop import run

huey = RedisHuey("bench", url=redis_url(), results=False)


@huey.task()
def noop(task: Any) -> None:
    run(task)
