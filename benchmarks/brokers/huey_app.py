"""huey's side: a blocking pop, no results."""

from huey import RedisHuey

from benchmarks.brokers.broker import redis_url
from benchmarks.brokers.noop import note

huey = RedisHuey("bench", url=redis_url(), results=False)


@huey.task()
def noop(number: int) -> None:
    note(number)
