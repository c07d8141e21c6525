"""What a bucket no longer needs is deleted many at a time, by nobody who waits for it, and all of it in the end."""

import random
import threading
import time
from typing import Any

import obstore
import pytest
from obstore.store import MemoryStore

from dibs.clock import SYSTEM
from dibs.stores import objects
from dibs.stores.objects import ObjectStore

SECONDS = 30


class Deleting:
    """obstore, with deletes that wait for `gate`."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.begun = threading.Event()
        self.batches: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(obstore, name)

    def delete(self, driver: Any, paths: list[str]) -> None:
        self.begun.set()
        assert self.gate.wait(SECONDS)
        self.batches.append(len(paths))
        obstore.delete(driver, paths)


@pytest.fixture
def deleting() -> Deleting:
    return Deleting()


@pytest.fixture
def store(deleting: Deleting, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    monkeypatch.setattr(objects, "DISCARD_SECONDS", 3600.0)
    store = ObjectStore(MemoryStore(), "s3://here", clock=SYSTEM, rng=random.Random(1))
    store._obstore = deleting
    return store


def discard(store: ObjectStore, first: int, count: int) -> None:
    for number in range(first, first + count):
        store.create(f"a/{number:04d}", b"x")
        store.discard(f"a/{number:04d}")


def left(store: ObjectStore) -> int:
    return sum(len(page) for page in obstore.list(store._driver, "a"))


def test_whoever_discards_does_not_wait(store: ObjectStore, deleting: Deleting) -> None:
    discard(store, 0, 250)
    assert deleting.begun.wait(SECONDS)
    assert deleting.batches == [] and left(store) == 250
    deleting.gate.set()
    store.flush()
    assert left(store) == 0 and sum(deleting.batches) == 250
    assert store.meter.counts["delete"] == len(deleting.batches) == 2


def test_too_many_that_wait_are_waited_for(store: ObjectStore, deleting: Deleting) -> None:
    full = threading.Thread(target=discard, args=(store, 0, 2 * objects.DISCARD_MOST + 500))
    full.start()
    deadline = time.monotonic() + SECONDS
    while len(store._discards) < objects.DISCARD_MOST and time.monotonic() < deadline:
        full.join(0.01)
    full.join(0.2)  # it would go on, if it did not wait
    assert full.is_alive() and len(store._discards) <= objects.DISCARD_MOST
    deleting.gate.set()
    full.join(SECONDS)
    store.flush()
    assert not full.is_alive() and left(store) == 0


def test_what_cannot_be_deleted_is_left(store: ObjectStore, deleting: Deleting) -> None:
    def refuse(_: Any, paths: list[str]) -> None:
        raise obstore.exceptions.GenericError("no")

    deleting.delete = refuse  # type: ignore[method-assign]
    discard(store, 0, 3)
    store.flush()
    assert left(store) == 3 and list(store.list("a/")) == []
