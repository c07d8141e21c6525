"""Looking at a queue now and then: what the figures say, what it costs, what happens when it cannot be read."""

import random
from collections.abc import Iterator

import pytest

import dibs
from dibs.errors import StorageError
from dibs.queues.queue import Queue
from dibs.queues.views import Stats
from dibs.serve.dashboard.sampler import ALONE_SECONDS, PAID_SECONDS, WATCHED_SECONDS, Sampler
from dibs.serve.desk import Desk
from dibs.task import NewTask
from dibs.testing.clock import ManualClock


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def queue(clock: ManualClock) -> Iterator[Queue]:
    with dibs.open("memory:", clock=clock) as opened:
        yield opened


@pytest.fixture
def sampler(queue: Queue, clock: ManualClock) -> Sampler:
    return Sampler(Desk("q", lambda: queue), clock, random.Random(3))


def test_it_counts_what_came_and_went_between_two_looks(queue: Queue, sampler: Sampler, clock: ManualClock) -> None:
    queue.push_many(range(10))
    sampler.look()
    clock.advance(5)
    queue.push_many(range(5))
    for lease in queue.claim_many(3):
        lease.complete()
    sampler.look()
    columns = sampler.series.columns(clock.boottime(), "15m")
    assert columns["pushed"] == [pytest.approx(1.0, rel=1e-3)]
    assert columns["completed"] == [pytest.approx(0.6, rel=1e-3)]
    assert columns["ready"] == [12]
    assert sampler.to_json()["rates"]["completed"] == pytest.approx(0.6, rel=1e-2)


def test_what_was_purged_is_no_negative_rate(queue: Queue, sampler: Sampler, clock: ManualClock) -> None:
    queue.push_many(range(3))
    for lease in queue.claim_many(3):
        lease.complete()
    sampler.look()
    clock.advance(7200)
    assert queue.purge() == 3
    sampler.look()
    columns = sampler.series.columns(clock.boottime(), "15m")
    assert (columns["pushed"], columns["completed"]) == ([0.0], [0.0])


def test_of_thousands_of_labels_some_are_told(queue: Queue, sampler: Sampler) -> None:
    queue.push_many(NewTask(labels=[f"label-{number:04}"], project=f"p{number:04}") for number in range(500))
    sampler.look()
    told = sampler.to_json()
    assert told["stats"]["labels"][0] == "label-0000"
    assert len(told["stats"]["labels"]) == len(told["stats"]["projects"]) == 200


def test_the_version_changes_with_the_queue_and_only_then(queue: Queue, sampler: Sampler) -> None:
    sampler.look()
    seen = sampler.version
    sampler.look()
    assert sampler.version == seen
    queue.push(1)
    sampler.look()
    queue.claim()
    sampler.look()
    assert sampler.version == seen + 2


def test_a_queue_that_cannot_be_read_says_so_and_recovers(queue: Queue, sampler: Sampler, clock: ManualClock) -> None:
    queue.push(1)
    sampler.look()
    good = queue.stats

    def broken() -> Stats:
        raise StorageError("cannot reach postgres://ada:hunter2@db/x; is it up?")

    queue.stats = broken  # type: ignore[method-assign]
    sampler.look()
    assert "hunter2" not in sampler.error
    assert "is it up" in sampler.to_json()["error"]
    assert sampler.pause(True) == 10
    version = sampler.version
    queue.stats = good  # type: ignore[method-assign]
    queue.push_many(range(100))
    clock.advance(60)
    sampler.look()
    assert (sampler.error, sampler.version) == ("", version + 1)
    assert sampler.series.columns(clock.boottime(), "15m")["pushed"] == []  # nobody knows when they came
    clock.advance(60)
    sampler.look()
    assert sampler.series.columns(clock.boottime(), "15m")["pushed"] == [0.0]


def test_a_look_takes_a_small_part_of_the_time(queue: Queue, sampler: Sampler, clock: ManualClock) -> None:
    sampler.look()
    assert sampler.pause(True) == WATCHED_SECONDS
    assert sampler.pause(False) == ALONE_SECONDS
    slow = queue.stats

    def slowly() -> Stats:
        clock.advance(4)
        return slow()

    queue.stats = slowly  # type: ignore[method-assign]
    sampler.look()
    assert sampler.pause(True) == pytest.approx(60, rel=1e-3)


def test_where_requests_are_paid_for_nobody_looks_unless_somebody_watches(queue: Queue, clock: ManualClock) -> None:
    queue.cost = dict  # type: ignore[method-assign]
    sampler = Sampler(Desk("q", lambda: queue), clock)
    assert sampler.pause(False) is None
    assert sampler.pause(True) == PAID_SECONDS
