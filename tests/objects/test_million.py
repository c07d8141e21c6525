"""A million objects in the queue: a claim asks for as little as among a thousand, and needs no more memory."""

import random
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

import obstore
import pytest
from obstore.store import MemoryStore

from dibs.clock import SYSTEM
from dibs.queues.objects import ObjectsQueue
from dibs.stores.objects import ObjectStore
from dibs.task import encode

FEW, MANY = 1_000, 1_000_000
PREFIX = "queues/long"
FOLDER = f"{PREFIX}/pending/0050"
SHARDS = 256


class LongBucket:
    """What obstore offers, of a bucket into which `count` tasks were pushed. They are made up when they are listed or
    read; all else is in memory, by obstore's own memory store."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._written = MemoryStore()
        self._deleted: set[str] = set()

    def put(self, _: object, path: str, data: bytes, **how: Any) -> Any:
        return obstore.put(self._written, path, data, **how)

    def get(self, _: object, path: str) -> Any:
        if path.startswith(FOLDER) and path not in self._deleted:
            task_id = path.rpartition("/")[2].partition(".")[0]
            obstore.put(self._written, path, encode({"id": task_id, "payload": task_id, "pushed_at": 1.0}))
        return obstore.get(self._written, path)

    def head(self, _: object, path: str) -> Any:
        return obstore.head(self._written, path)

    def delete(self, _: object, paths: str | list[str]) -> None:
        for path in [paths] if isinstance(paths, str) else paths:
            self._deleted.add(path)
            with suppress(FileNotFoundError):
                obstore.delete(self._written, path)

    def list(self, _: object, prefix: str, *, offset: str | None, chunk_size: int) -> Iterator[Any]:
        if not prefix.startswith(FOLDER):
            return iter(obstore.list(self._written, prefix, offset=offset, chunk_size=chunk_size))
        names = ({"path": path} for path in self._seeds(offset or "") if path.startswith(prefix))
        return iter(lambda: list(islice(names, chunk_size)), [])

    def list_with_delimiter(self, _: object, prefix: str) -> Any:
        found = obstore.list_with_delimiter(self._written, prefix)["common_prefixes"]
        ours = {PREFIX: f"{PREFIX}/pending", f"{PREFIX}/pending": FOLDER}.get(prefix)
        return {"common_prefixes": [*found, *([ours] if ours else [])]}

    def _seeds(self, offset: str) -> Iterator[str]:
        """In order, from behind `offset` on, without going through what is before it."""
        shard = offset.removeprefix(f"{FOLDER}/")[:2]
        for number in range(int(shard, 16) if shard else 0, SHARDS):
            inside = offset.removeprefix(f"{FOLDER}/{number:02x}/")
            first = int(inside[:30], 16) if inside != offset and len(inside) > 30 else 0
            for serial in range(first, -(-(self._count - number) // SHARDS)):
                path = f"{FOLDER}/{number:02x}/{serial:030x}{number:02x}.50.0"
                if path > offset and path not in self._deleted:
                    yield path


def opened(count: int, seed: int = 1, **settings: Any) -> ObjectsQueue:
    rng = random.Random(seed)
    store = ObjectStore(None, f"s3://long-{count}-{seed}", clock=SYSTEM, rng=rng, prefix=PREFIX)
    store._obstore = LongBucket(count)
    return ObjectsQueue("s3://bucket/queues/long", store, rng=rng, **settings)


def drained(queue: ObjectsQueue, count: int) -> dict[str, int]:
    """What so many claims and completions have asked of the bucket."""
    before = queue.meter.counts
    taken = set()
    for _ in range(count):
        lease = queue.claim()
        assert lease is not None
        taken.add(lease.payload)
        lease.complete()
    assert len(taken) == count
    return {kind: number - before[kind] for kind, number in queue.meter.counts.items() if kind != "delete"}


def test_the_bucket_is_as_long_as_it_says() -> None:
    bucket = LongBucket(FEW)
    names = [meta["path"] for page in bucket.list(None, FOLDER, offset=None, chunk_size=300) for meta in page]
    assert len(names) == FEW and names == sorted(names)
    later = [meta["path"] for page in bucket.list(None, FOLDER, offset=names[700], chunk_size=300) for meta in page]
    assert later == names[701:]


@pytest.mark.parametrize("seed", range(3))
def test_a_claim_asks_for_no_more_among_a_million(seed: int) -> None:
    few, many = drained(opened(FEW, seed), 500), drained(opened(MANY, seed), 500)
    assert (many["put"], many["get"]) == (few["put"], few["get"])
    assert many["list"] <= few["list"]


def test_so_do_all_claims_of_a_long_run() -> None:
    queue = opened(MANY)
    drained(queue, 1)
    counts = drained(queue, 4000)
    assert (counts["put"], counts["get"]) == (3 * 4000, 4000)
    assert counts["list"] <= 4000 / 1000 + 1


@pytest.mark.parametrize("seed", range(3))
def test_a_first_claim_and_a_look_at_one_task_ask_for_no_more(seed: int) -> None:
    costs = []
    for count in (FEW, MANY):
        queue = opened(count, seed, fresh=0.0)
        first, next_ = drained(queue, 1), drained(queue, 1)
        before = queue.meter.counts
        task_id = f"{2:030x}{77:02x}"
        assert queue.get(task_id).payload == task_id
        looked = {kind: number - before[kind] for kind, number in queue.meter.counts.items()}
        costs.append((first["get"], next_["get"], looked["get"], first["list"], next_["list"], looked["list"]))
    assert all(many <= few for few, many in zip(*costs, strict=True)), costs


def test_a_claimer_needs_no_more_memory_among_a_million() -> None:
    peaks = []
    drained(opened(FEW), 10)  # what is loaded and cached at the first time
    for count in (FEW, MANY):
        queue = opened(count)
        tracemalloc.start()
        drained(queue, 500)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    few, many = peaks
    assert many < few + 250_000, peaks
