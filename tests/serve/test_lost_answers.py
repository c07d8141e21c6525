"""A network that breaks at the worst moment: before the daemon gets a request, or after it has answered."""

from collections.abc import Iterator

import pytest

import dibs
from dibs.errors import LeaseLost
from dibs.queues.held import Lease
from dibs.queues.queue import Queue
from postgres.relay import Relay
from serve.daemon import TOKEN, Daemon

MOMENTS = pytest.mark.parametrize("answered", [False, True], ids=["before", "after"])


@pytest.fixture
def relay(daemon: Daemon) -> Iterator[Relay]:
    with Relay("127.0.0.1", daemon.port) as relay:
        yield relay


@pytest.fixture
def queue(relay: Relay) -> Iterator[Queue]:
    with dibs.open(f"http://127.0.0.1:{relay.port}/q?token={TOKEN}") as queue:
        yield queue


def take(queue: Queue) -> Lease:
    lease = queue.claim(ttl=600)
    assert lease is not None
    return lease


@MOMENTS
def test_a_push_is_one_task(queue: Queue, relay: Relay, answered: bool) -> None:
    relay.cut(b"/tasks ", answered=answered)
    task = queue.push({"n": 1}, key="k")
    assert relay.cuts == 1
    assert (queue.stats().total, task.duplicate) == (1, False)


@MOMENTS
def test_a_claim_is_one_lease(queue: Queue, relay: Relay, answered: bool) -> None:
    queue.push_many(range(5))
    relay.cut(b"/claim ", answered=answered)
    leases = queue.claim_many(2, ttl=600)
    assert relay.cuts == 1
    assert (len(leases), queue.stats().states["claimed"]) == (2, 2)


@MOMENTS
@pytest.mark.parametrize("step", ["complete", "fail", "release", "renew"])
def test_a_step_happens_once(queue: Queue, relay: Relay, step: str, answered: bool) -> None:
    task = queue.push({"n": 1}, backoff=0.0)
    lease = take(queue)
    relay.cut(f"/{step} ".encode(), answered=answered)
    getattr(lease, step)(*(["why"] if step == "fail" else []))
    assert relay.cuts == 1
    detail = queue.detail(task.id)
    expected = {"complete": ("completed", 0), "fail": ("ready", 1), "release": ("ready", 0), "renew": ("claimed", 0)}
    if step == "fail":
        assert [event.what for event in detail.history] == ["failed"]
    assert (detail.task.state.replace("scheduled", "ready"), detail.task.attempts) == expected[step]


@MOMENTS
def test_a_chain_completes_once_and_claims_one(queue: Queue, relay: Relay, answered: bool) -> None:
    queue.push_many(range(3))
    lease = take(queue)
    relay.cut(b"/complete ", answered=answered)
    following = queue.complete_and_claim(lease, "done", ttl=600)
    assert relay.cuts == 1
    assert following is not None
    states = queue.stats().states
    assert (states["completed"], states["claimed"], states["ready"]) == (1, 1, 1)


@pytest.mark.parametrize("step", ["complete", "fail", "release"])
def test_a_restarted_daemon_finds_out_what_was_done(queue: Queue, daemon: Daemon, relay: Relay, step: str) -> None:
    """The answer is lost and so is the daemon's memory: the task's history tells."""
    task = queue.push({"n": 1}, backoff=0.0)
    lease = take(queue)
    counter = daemon.house.counters["q"]
    epoch = lease.epoch
    steps = {
        "complete": lambda repeat: counter.desk.complete(task.id, epoch, "done", repeat=repeat),
        "fail": lambda repeat: counter.desk.fail(task.id, epoch, "why", True, repeat=repeat),
        "release": lambda repeat: counter.desk.release(task.id, epoch, 0.0, repeat=repeat),
    }
    steps[step](False)
    counter.desk._held.clear()
    steps[step](True)
    with pytest.raises(LeaseLost):
        steps[step](False)
    assert queue.get(task.id).attempts == (1 if step == "fail" else 0)


def test_a_repeat_is_no_way_around_the_epoch(queue: Queue, daemon: Daemon) -> None:
    """A stale holder that asks again is refused as it was the first time."""
    task = queue.push({"n": 1})
    lease = take(queue)
    desk = daemon.house.counters["q"].desk
    desk.end((task.id, lease.epoch))
    fresh = take(queue)
    for step in (
        lambda: desk.complete(task.id, 1, "stale", repeat=True),
        lambda: desk.fail(task.id, 1, "stale", True, repeat=True),
        lambda: desk.release(task.id, 1, 0.0, repeat=True),
    ):
        with pytest.raises(LeaseLost):
            step()
    fresh.complete("fresh")
    assert queue.detail(task.id).result == "fresh"
