"""Waiting without polling: word of work wakes who waits, and an idle worker asks the server a few times a minute."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import dibs
from dibs.queues.held import Lease
from dibs.queues.queue import Queue
from dibs.testing import ManualClock
from redisqueue import manual_time
from servers.redis_proxy import LosingProxy
from waiting import PATIENCE, until

MINUTES = 30


@pytest.fixture
def waiting(url: str) -> Iterator[Queue]:
    """It looks by itself only every ten minutes."""
    with dibs.open(f"{url}&idle=600") as opened:
        opened.first_pause = 600.0
        yield opened


def wait_for_work(queue: Queue, **wanted: Any) -> Callable[[], Lease | None]:
    """Starts to wait, and returns when it does; call it for what came."""
    got: list[Lease | None] = []
    wake = queue._wake  # type: ignore[attr-defined]
    thread = threading.Thread(target=lambda: got.append(queue.claim(wait=60, ttl=60, **wanted)), daemon=True)
    thread.start()
    until(lambda: got or (wake.heard and wake._changed._waiters), "it to listen")

    def came() -> Lease | None:
        thread.join(PATIENCE)
        assert not thread.is_alive(), "it was not woken"
        return got[0]

    return came


def test_a_push_wakes_who_waits(queue: Queue, waiting: Queue) -> None:
    came = wait_for_work(waiting)
    task = queue.push("now")
    lease = came()
    assert lease is not None
    assert lease.id == task.id


@pytest.mark.parametrize("how", ["release", "fail", "retry", "resume", "complete", "delay"])
def test_whatever_makes_a_task_ready_wakes(queue: Queue, waiting: Queue, how: str) -> None:
    first = queue.push("first", backoff=0.0)
    lease = queue.claim(ttl=60)
    assert lease is not None
    if how == "complete":
        queue.push("after", after=[first.id])
    elif how == "retry":
        queue.cancel(first.id)
    elif how == "resume":
        queue.pause()
        queue.push("second")
    came = wait_for_work(waiting)
    {
        "release": lease.release,
        "fail": lease.fail,
        "retry": lambda: queue.retry(first.id),
        "resume": queue.resume,
        "complete": lease.complete,
        "delay": lambda: queue.push("soon", delay=0.2),
    }[how]()
    assert came() is not None


def test_one_of_several_gets_it_and_the_others_wait_on(queue: Queue, url: str) -> None:
    others = [dibs.open(f"{url}&idle=600") for _ in range(3)]
    for other in others:
        other.first_pause = 600.0
    came = [wait_for_work(other) for other in others]
    for n in range(3):
        queue.push(n)
    leases = [one() for one in came]
    assert sorted(lease.payload for lease in leases if lease) == [0, 1, 2]
    for other in others:
        other.close()


def test_a_filter_waits_for_its_own(queue: Queue, waiting: Queue) -> None:
    came = wait_for_work(waiting, project="web")
    queue.push("other")
    task = queue.push("mine", project="web")
    lease = came()
    assert lease is not None
    assert lease.id == task.id


@pytest.mark.parametrize(
    ("wanted", "task"),
    [
        ({"max_priority": 50}, {"priority": 50}),
        ({"max_priority": 50}, {"priority": 10, "labels": ["x"]}),
        ({"labels": ["x"]}, {"priority": 10, "labels": ["x", "z"]}),
        ({"project": "p", "max_priority": 50}, {"project": "p", "priority": 50}),
    ],
    ids=ascii,
)
def test_what_others_leave_lying_hides_nothing(
    queue: Queue, waiting: Queue, wanted: dict[str, Any], task: dict[str, Any]
) -> None:
    for n in range(3):
        queue.push(n, priority=100, project="p")
        if "max_priority" not in wanted:
            queue.push(n, priority=0)
    came = wait_for_work(waiting, **wanted)
    pushed = queue.push("mine", **task)
    lease = came()
    assert lease is not None
    assert lease.id == pushed.id


def test_what_runs_out_at_once_is_shared_out(url: str, queue: Queue) -> None:
    """Whoever takes it back needs only one: the others are told of the rest."""
    queue.push_many(range(3))
    assert len(queue.claim_many(3, ttl=2)) == 3
    others = [dibs.open(f"{url}&idle=600") for _ in range(3)]
    for other in others:
        other.first_pause = 600.0
    came = [wait_for_work(other) for other in others]
    leases = [one() for one in came]
    assert sorted(lease.payload for lease in leases if lease) == [0, 1, 2]
    for other in others:
        other.close()


def test_word_that_was_missed_while_the_connection_was_away(queue: Queue, through: str, proxy: LosingProxy) -> None:
    with dibs.open(f"{through}&idle=600") as waiting:
        waiting.first_pause = 600.0
        came = wait_for_work(waiting)
        proxy.cut()
        queue.push("meanwhile")
        proxy.mend()
        assert came() is not None


def test_who_is_roused_looks_again(queue: Queue, waiting: Queue) -> None:
    came = wait_for_work(waiting)
    looks = waiting._server.asked  # type: ignore[attr-defined]
    waiting.rouse()
    until(lambda: waiting._server.asked > looks, "it to look")  # type: ignore[attr-defined]
    queue.push(1)
    assert came() is not None


def test_an_idle_worker_asks_a_few_times_a_minute(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ManualClock()
    manual_time.install(monkeypatch, clock)
    with dibs.open(url, clock=clock) as queue:
        before = queue._server.asked  # type: ignore[attr-defined]
        started = clock.boottime()
        assert queue.claim(wait=MINUTES * 60) is None
        assert clock.boottime() - started >= MINUTES * 60
        assert queue._server.asked - before < 4 * MINUTES  # type: ignore[attr-defined]
