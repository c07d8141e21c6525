"""Another queue that names what is ready, over the memory store."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import dibs
from dibs.errors import BadInput, StorageError
from dibs.queues.objects.discovery import snapshot
from dibs.queues.objects.discovery.choice import Choice
from dibs.queues.queue import Queue
from dibs.queues.stored import StoredQueue
from dibs.states import State
from dibs.testing import ManualClock
from objects.by_names import ByNames, Counting

Open = Callable[..., ByNames]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def store(clock: ManualClock) -> Counting:
    return Counting(clock)


@pytest.fixture
def url() -> str:
    return f"memory:{uuid4().hex}"


@pytest.fixture
def names(url: str, clock: ManualClock) -> Queue:
    return dibs.open(url, clock=clock)


@pytest.fixture
def opened(store: Counting, clock: ManualClock, url: str) -> Open:
    def opened(where: str = url, **options: Any) -> ByNames:
        settings = {"clock": clock, "fresh": 30.0, "relist": 300.0, "idle": 35.0, "rng": random.Random(1), **options}
        return ByNames("memory:", store, discover=Choice("queue", where), **settings)

    return opened


def plain(store: Counting, clock: ManualClock) -> StoredQueue:
    return StoredQueue("memory:", store, clock=clock)


def ready(names: Queue) -> int:
    return names.stats().states[State.READY]


def test_a_claim_needs_no_listing(store: Counting, opened: Open, names: Queue) -> None:
    pusher, worker = opened(), opened()
    assert worker.claim() is None
    worker._upkeep_at = float("inf")
    pusher.push_many(range(2500))
    assert ready(names) == 2500
    store.asked.clear()
    for _ in range(100):
        lease = worker.claim()
        assert lease is not None
        lease.complete()
    assert store.asked["list"] == 0 and store.asked["put"] == 300
    assert ready(names) == 2400


def test_a_lost_name_is_found_by_the_next_listing(
    store: Counting, opened: Open, names: Queue, clock: ManualClock
) -> None:
    worker = opened()
    assert worker.claim() is None
    task = worker.push(1)
    (name,) = names.claim_many(9)
    name.complete()  # and whoever took it died
    assert worker.claim() is None
    clock.advance(301)
    lease = worker.claim()
    assert lease is not None and lease.id == task.id


def test_what_was_pushed_by_who_knows_of_no_names_is_found(store: Counting, opened: Open, clock: ManualClock) -> None:
    ids = {task.id for task in plain(store, clock).push_many(range(30))}
    assert {lease.id for lease in opened().claim_many(99)} == ids


def test_one_lists_for_all_and_names_are_not_doubled(
    store: Counting, opened: Open, names: Queue, clock: ManualClock
) -> None:
    plain(store, clock).push_many(range(50))
    workers = [opened() for _ in range(4)]
    assert all(worker.claim() is not None for worker in workers)
    assert ready(names) == 46
    clock.advance(301)
    store.asked.clear()
    for worker in workers:
        worker._upkeep_at = float("inf")
        assert worker.claim() is not None
    assert store.asked["list"] == 2
    assert 42 <= ready(names) <= 46, "those that are held are named again, no other"


def test_a_listing_that_was_cut_goes_on(
    store: Counting, opened: Open, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "MOST", 50)
    pusher = plain(store, clock)
    pusher.push_many(range(130))
    low = {pusher.push(n, priority="low", project="p").id for n in range(3)}
    worker = opened()
    assert {lease.id for lease in worker.claim_many(9, project="p")} == low
    assert len(worker.claim_many(999)) == 130


def test_whoever_waits_is_woken_by_a_name(store: Counting, opened: Open, clock: ManualClock, names: Queue) -> None:
    worker, other = opened(), opened()
    assert worker.claim() is None
    began, pushed = clock.boottime(), []
    sleep = clock.sleep

    def sleeping(seconds: float) -> None:
        sleep(seconds)
        if not pushed and clock.boottime() - began > 20:
            pushed.append(other.push(1, labels=["x"]).id)

    clock.sleep = sleeping  # type: ignore[method-assign]
    lease = worker.claim(wait=600, labels=["x"])
    assert lease is not None and [lease.id] == pushed
    assert clock.boottime() - began < 25, "it slept on"


def test_what_was_taken_while_waiting_is_given_back_to_others(
    store: Counting, opened: Open, clock: ManualClock, names: Queue
) -> None:
    worker, other = opened(), opened()
    assert other.claim() is None
    task = other.push(1)
    worker._discovery.wait(1.0)
    assert ready(names) == 0
    worker.close()
    lease = other.claim()
    assert lease is not None and lease.id == task.id


def test_tasks_of_somebody_else_are_left_alone(store: Counting, opened: Open, names: Queue, clock: ManualClock) -> None:
    theirs = names.push({"work": 1})
    worker = opened()
    with pytest.raises(StorageError, match="nothing else uses"):
        worker.claim()
    assert names.get(theirs.id).state is State.READY
    names.cancel(theirs.id)
    assert worker.claim() is None
    elsewhere = ByNames("memory:", Counting(clock), discover=Choice("queue", names.url), clock=clock)
    elsewhere.push(1)
    with pytest.raises(StorageError, match="nothing else uses"):
        worker.claim()


def test_trouble_with_the_other_queue_is_told_and_loses_nothing(
    store: Counting, opened: Open, clock: ManualClock, tmp_path: Path
) -> None:
    place = tmp_path / "names"
    place.write_text("in the way")
    queue = opened(f"file:{place}")
    task = queue.push(1)
    with pytest.raises(StorageError, match=f"cannot learn what is ready from file:{place}: .*") as caught:
        queue.claim()
    assert "\n" not in str(caught.value)
    place.unlink()
    lease = queue.claim()
    assert lease is not None and lease.id == task.id


def test_the_queue_cannot_name_itself(store: Counting, clock: ManualClock, url: str) -> None:
    itself = dibs.open(url)
    with pytest.raises(BadInput, match="is the queue itself"):
        ByNames(url, itself._store, discover=Choice("queue", url))  # type: ignore[attr-defined]


def test_a_folder_of_files_cannot_hold_names(opened: Open, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with pytest.raises(BadInput, match="cannot hold names"):
        opened(f"dir:{tmp_path}/in")


def test_a_dead_workers_task_comes_back(store: Counting, opened: Open, clock: ManualClock) -> None:
    dead, worker = opened(pid=None), opened()
    dead.push(1)
    held = dead.claim(ttl=20)
    assert held is not None
    assert worker.claim() is None
    for _ in range(20):
        clock.advance(35)
        if (lease := worker.claim()) is not None:
            break
    assert lease is not None and (lease.id, lease.epoch) == (held.id, 2)
