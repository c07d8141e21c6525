"""Claims that wait: many at once, in few threads, woken by a push."""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

import dibs
from dibs.errors import StorageError
from serve.daemon import Daemon
from waiting import PATIENCE, until

WAITING = 200


def test_two_hundred_wait_at_once_and_each_gets_one_task(daemon: Daemon) -> None:
    counter = daemon.house.counters["q"]
    with dibs.open(daemon.url) as queue, ThreadPoolExecutor(WAITING) as pool:
        claims = [pool.submit(queue.claim, wait=50.0, ttl=600.0) for _ in range(WAITING)]
        until(lambda: len(counter.waiting._waiters), equals=WAITING)
        assert queue.stats().total == 0  # others are answered meanwhile
        threads = [thread for thread in threading.enumerate() if thread.name.startswith("dibs-serve")]
        assert len(threads) <= 8
        ids = {task.id for task in queue.push_many({"n": n} for n in range(WAITING))}
        leases = [claim.result(PATIENCE) for claim in claims]
        assert Counter(lease.id for lease in leases if lease is not None) == Counter(ids)


def test_who_hangs_up_gets_nothing(daemon: Daemon) -> None:
    counter = daemon.house.counters["q"]
    with dibs.open(daemon.url) as queue, ThreadPoolExecutor(1) as pool:

        def wait() -> None:
            assert queue.claim_many(1) == []
            queue._wait(50.0)

        waiting = pool.submit(wait)
        until(lambda: len(counter.waiting._waiters), equals=1)
        queue.rouse()
        waiting.result(PATIENCE)
        until(lambda: not counter.waiting._waiters)
        task = queue.push(1)
        (lease,) = queue.claim_many(5)
        assert (lease.id, lease.epoch) == (task.id, 1)


def test_those_who_want_something_else_wait_on(daemon: Daemon) -> None:
    counter = daemon.house.counters["q"]
    with dibs.open(daemon.url) as queue, ThreadPoolExecutor(2) as pool:
        web = pool.submit(queue.claim, wait=50.0, project="web")
        mail = pool.submit(queue.claim, wait=50.0, project="mail")
        until(lambda: len(counter.waiting._waiters), equals=2)
        first = queue.push(1, project="mail")
        lease = mail.result(PATIENCE)
        assert lease is not None
        assert lease.id == first.id
        assert not web.done()
        second = queue.push(2, project="web")
        lease = web.result(PATIENCE)
        assert lease is not None
        assert lease.id == second.id


def test_a_daemon_that_stops_sends_waiters_to_the_next(start: Callable[..., Daemon], folder: str) -> None:
    daemon = start()
    with dibs.open(f"{daemon.url}&patience=0") as queue, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(queue.claim, wait=50.0)
        until(lambda: bool(daemon.house.counters["q"].waiting._waiters))
        daemon.stop()
        with pytest.raises(StorageError, match=r"stopping|dibs serve"):
            waiting.result(PATIENCE)
    with dibs.open(folder) as files:
        assert files.stats().total == 0
