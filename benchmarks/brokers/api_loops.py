"""dibs on Redis by its API, without workers: with as many round trips a task as the floor beside it."""

import json
from collections.abc import Iterator
from typing import Any

from benchmarks.brokers.ours import redis_queue
from benchmarks.brokers.raw_queue import RawQueue
from benchmarks.contenders.contender import Contender

WAYS = ("two round trips", "one round trip", "batches of 100")
CALLS = dict(zip(WAYS, ("claim, complete", "complete_and_claim", "claim_many, complete_many"), strict=True))


class DibsLoop(Contender):
    kind = "dibs"
    module = "redis"
    drain_durability = "in memory"

    def __init__(self, url: str, way: str) -> None:
        self.url = url
        self.way = way
        self.name = f"dibs on Redis, {way}"
        self.note = f"by {CALLS[way]}"

    def fill(self, folder: str, payloads: list[bytes]) -> None:
        from redis import Redis

        import dibs

        with Redis.from_url(self.url) as client:
            client.flushall()
        with dibs.open(redis_queue(self.url)) as queue:
            queue.push_many(json.loads(data) for data in payloads)

    def open(self, folder: str, rank: int = 0, ranks: int = 1) -> Any:
        import dibs

        return dibs.open(redis_queue(self.url))

    def drain(self, handle: Any) -> Iterator[Any]:
        if self.way == "batches of 100":
            while leases := handle.claim_many(100):
                if handle.complete_many(leases):
                    raise RuntimeError("leases lost")
                for lease in leases:
                    yield lease.payload
            return
        lease = handle.claim()
        while lease is not None:
            payload = lease.payload
            if self.way == "one round trip":
                lease = handle.complete_and_claim(lease)
            else:
                lease.complete()
                lease = handle.claim()
            yield payload


def loops(url: str) -> list[Contender]:
    return [make(url, way) for way in WAYS for make in (RawQueue, DibsLoop)]
