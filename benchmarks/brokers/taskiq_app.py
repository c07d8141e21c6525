"""taskiq's side: a stream, from its beginning; no result backend."""

from typing import Any

from taskiq_redis import RedisStreamBroker

from benchmarks.brokers.broker import redis_url
from benchmarks.brokers.noop import run

broker = RedisStreamBroker(redis_url(), consumer_id="0")


@broker.task(task_name="noop")
async def noop(task: Any) -> None:
    run(task)
