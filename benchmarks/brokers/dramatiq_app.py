"""Dramatiq's side: its default middleware, as a worker runs it."""

from typing import Any

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from benchmarks.brokers.broker import redis_url
from benchmarks.brokers.noop import run

broker = RedisBroker(url=redis_url())
dramatiq.set_broker(broker)


@dramatiq.actor(max_retries=0)
def noop(task: Any) -> None:
    run(task)
