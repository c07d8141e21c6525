"""ARQ's side: results not kept or logged, no waiting between two looks."""

from typing import Any, ClassVar

from arq.connections import RedisSettings
from arq.worker import func

from benchmarks.brokers.async_peers import faster_loops
from benchmarks.brokers.broker import redis_url
from benchmarks.brokers.noop import run

faster_loops()


async def noop(context: Any, task: Any) -> None:
    run(task)


class WorkerSettings:
    functions: ClassVar = [func(noop, name="noop", keep_result=0, max_tries=1)]
    redis_settings = RedisSettings.from_dsn(redis_url())
    max_jobs = 30
    queue_read_limit = 60
    poll_delay = 0.01
    log_results = False
