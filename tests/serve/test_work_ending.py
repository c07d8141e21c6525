"""How a worker over HTTP ends: soon, with a word, and with nothing in hand that nobody works on."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs.queues.queue import Queue
from dibs.queues.remote.connections import Connections
from dibs.worker.job import Job
from dibs.worker.supervisor import Supervisor
from serve.daemon import Daemon
from waiting import PATIENCE, until

SOON = 40.0  # well below the 50 s that somebody who was not roused would wait
Working = Callable[..., Supervisor]


@pytest.fixture
def daemon(start: Callable[..., Daemon]) -> Daemon:
    return start(grace=600.0)  # so whoever is taken for dropped can be seen


@pytest.fixture
def queue(daemon: Daemon) -> Iterator[Queue]:
    with dibs.open(daemon.url) as opened:
        yield opened


@pytest.fixture
def working(daemon: Daemon) -> Iterator[Working]:
    started: list[tuple[Supervisor, Queue]] = []

    def start(*, workers: int = 1, threads: bool = False, **settings: Any) -> Supervisor:
        own = dibs.open(daemon.url)
        job = Job(**{"url": daemon.url, "command": ("true",), "ttl": 30.0, **settings})
        supervisor = Supervisor(job, own, workers=workers, threads=threads)
        supervisor.start()
        started.append((supervisor, own))
        return supervisor

    yield start
    for supervisor, own in started:
        supervisor.kill()
        supervisor.join()
        own.close()


def waiting(daemon: Daemon) -> int:
    return len(daemon.house.counters["q"].waiting)


def missed(daemon: Daemon) -> list[str]:
    """Sessions that ended without a word, once all have ended."""
    sessions = daemon.house.counters["q"].sessions
    until(lambda: sessions.begun and not sessions.connected)
    return burying(daemon)


def burying(daemon: Daemon) -> list[str]:
    """When the daemon is done with what it does at this moment."""
    done = threading.Event()
    assert daemon._loop is not None
    daemon._loop.call_soon_threadsafe(done.set)
    assert done.wait(PATIENCE)
    return list(daemon.house.counters["q"].sessions._burying)


def counts(queue: Queue) -> dict[str, int]:
    return {str(state): number for state, number in queue.stats().states.items() if number}


# Waking


def test_who_is_roused_between_look_and_wait_does_not_wait(queue: Queue) -> None:
    def look_and_wait() -> None:
        assert queue.claim_many(1) == []
        queue.rouse()
        queue._wait(50.0)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(look_and_wait).result(SOON)


def test_whoever_looked_again_waits_again(daemon: Daemon, queue: Queue) -> None:
    waiters = daemon.house.counters["q"].waiting._waiters

    def wait_twice() -> None:
        for _ in range(2):
            assert queue.claim_many(1) == []
            queue._wait(50.0)

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(wait_twice)
        until(lambda: waiters)
        first = waiters[0]
        queue.rouse()
        until(lambda: [waiter for waiter in list(waiters) if waiter is not first])
        assert not done.done()
        queue.rouse()
        done.result(SOON)


def test_who_waits_looks_again_when_the_last_task_has_ended(
    daemon: Daemon, queue: Queue, working: Working, tmp_path: Path
) -> None:
    """The queue is empty only once everybody has looked in vain after it."""
    queue.push(str(tmp_path / "go"))
    wait = 'until [ -e "$0" ]; do sleep 0.01; done'
    supervisor = working(workers=2, command=("sh", "-c", wait, "{payload}"), until_empty=True)
    until(lambda: counts(queue) == {"claimed": 1} and waiting(daemon) == 1)
    (tmp_path / "go").touch()
    assert supervisor.ended.wait(SOON)


# What waiting brought


def test_what_was_claimed_for_a_thread_that_looks_no_more_goes_back(daemon: Daemon, queue: Queue) -> None:
    def wait() -> None:
        assert queue.claim_many(1) == []
        queue._wait(50.0)
        assert counts(queue) == {"claimed": 1}
        queue.stop_waiting()

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(wait)
        until(lambda: waiting(daemon), equals=1)
        task = queue.push(1)
        done.result(SOON)
    assert counts(queue) == {"ready": 1}
    assert queue.get(task.id).deaths == queue.get(task.id).attempts == 0


def test_closing_gives_back_what_waiting_brought_to_any_thread(daemon: Daemon, queue: Queue) -> None:
    def wait(own: Queue) -> None:
        assert own.claim_many(1) == []
        own._wait(50.0)

    with dibs.open(daemon.url) as own, ThreadPoolExecutor(3) as pool:
        done = [pool.submit(wait, own) for _ in range(3)]
        until(lambda: waiting(daemon), equals=3)
        queue.push_many(range(3))
        for one in done:
            one.result(SOON)
        assert counts(queue) == {"claimed": 3}
    assert counts(queue) == {"ready": 3}


def test_who_is_roused_while_the_answer_is_on_its_way_knows_what_it_got(
    daemon: Daemon, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The daemon claims for it, and it hangs up before it is told."""
    desk = daemon.house.counters["q"].desk
    note = desk.note

    def rouse_first(leases: Any, session: Any) -> None:
        note(leases, session)
        if leases:
            monkeypatch.setattr(desk, "note", note)
            queue.rouse()

    def wait() -> None:
        assert queue.claim_many(1) == []
        queue._wait(50.0)
        queue.stop_waiting()

    with ThreadPoolExecutor(1) as pool, dibs.open(daemon.url) as other:
        done = pool.submit(wait)
        until(lambda: waiting(daemon), equals=1)
        monkeypatch.setattr(desk, "note", rouse_first)
        task = other.push(1)
        done.result(SOON)
        assert counts(other) == {"ready": 1}
        assert other.get(task.id).deaths == 0


def test_waiting_twice_loses_nothing(daemon: Daemon, queue: Queue) -> None:
    assert queue.claim_many(1) == []
    queue.push_many(range(3))
    queue._wait(50.0)
    queue._wait(50.0)
    assert counts(queue) == {"ready": 2, "claimed": 1}
    assert len(queue.claim_many(3)) == 3


def test_a_worker_that_may_start_no_more_claims_no_more(queue: Queue, working: Working) -> None:
    queue.push_many(range(30))
    assert working(max_tasks=2).ended.wait(PATIENCE)
    assert counts(queue) == {"ready": 28, "completed": 2}
    assert {lease.epoch for lease in queue.claim_many(28)} == {1}, "nobody has had them before"


# Goodbye


@pytest.mark.parametrize("threads", [False, True])
@pytest.mark.parametrize("road", ["empty", "told", "max-tasks", "error"])
def test_whoever_ends_in_good_order_says_so(
    daemon: Daemon, queue: Queue, working: Working, road: str, threads: bool
) -> None:
    queue.push_many(range(3))
    settings: dict[str, dict[str, Any]] = {
        "empty": {"until_empty": True},
        "told": {},
        "max-tasks": {"max_tasks": 3},
        "error": {"command": ("{payload}",)},  # a command that is not there, which fits no task
    }
    supervisor = working(workers=2, threads=threads, **settings[road])
    if road == "told":
        until(lambda: counts(queue) == {"completed": 3} and waiting(daemon) == 2)
        supervisor.stop()
    assert supervisor.ended.wait(SOON)
    assert bool(supervisor.unusable) == (road == "error")
    queue.close()
    assert missed(daemon) == []
    with dibs.open(daemon.url) as again:
        assert "claimed" not in counts(again)


def test_a_runner_that_gets_a_signal_of_its_own_ends_soon_and_says_so(
    daemon: Daemon, queue: Queue, working: Working
) -> None:
    waiters = daemon.house.counters["q"].waiting._waiters
    supervisor = working()
    until(lambda: waiting(daemon), equals=1)
    pid, (first,) = supervisor.hands[0].pid, list(waiters)
    os.kill(pid, signal.SIGTERM)
    until(lambda: supervisor.hands[0].pid not in (0, pid), "another runner")
    until(lambda: [waiter for waiter in list(waiters) if waiter is not first], "it to wait")
    until(lambda: first not in list(waiters))
    until(lambda: daemon.house.counters["q"].sessions.connected, equals=1)
    assert burying(daemon) == []


def test_who_keeps_leases_for_another_says_goodbye_too(daemon: Daemon) -> None:
    with dibs.open(daemon.url) as own:
        own.push(1)
        lease = own.claim(ttl=60)
        assert lease is not None
        with lease:
            until(lambda: daemon.house.counters["q"].sessions.connected, equals=2)
    assert missed(daemon) == []


def test_a_goodbye_does_not_come_before_the_greeting(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    stream, go = Connections.stream, threading.Event()

    def late(self: Connections, *words: Any) -> Any:
        assert go.wait(PATIENCE)
        return stream(self, *words)

    monkeypatch.setattr(Connections, "stream", late)
    own: Any = dibs.open(daemon.url)
    assert own.claim_many(1) == []
    with ThreadPoolExecutor(1) as pool:
        closing = pool.submit(own.close)
        until(lambda: own._session._pid, equals=0)
        go.set()
        closing.result(SOON)
    assert missed(daemon) == []


def test_nobody_waits_to_say_goodbye_to_a_daemon_that_is_gone(daemon: Daemon) -> None:
    own = dibs.open(daemon.url)
    assert own.claim_many(1) == []
    until(lambda: daemon.house.counters["q"].sessions.connected, equals=1)
    daemon.stop()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(own.close).result(SOON)


def test_a_forked_child_closes_nothing_of_its_parents(daemon: Daemon, queue: Queue) -> None:
    queue.push_many(range(2))
    lease = queue.claim(ttl=60)
    assert lease is not None
    sessions = daemon.house.counters["q"].sessions
    until(lambda: sessions.connected, equals=1)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            queue.close()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert sessions.connected == 1
    assert not sessions._left
    lease.renew()
    lease.complete()
    assert queue.claim(ttl=60) is not None


def test_a_worker_on_files_leaves_no_record_behind(tmp_path: Path) -> None:
    with dibs.open(f"file:{tmp_path}/files?sync=off") as files:
        files.push_many(range(3))
        supervisor = Supervisor(Job(url=files.url, command=("true",), until_empty=True), files, workers=2)
        supervisor.start()
        assert supervisor.ended.wait(PATIENCE)
        supervisor.join()
    assert list((tmp_path / "files" / "workers").glob("*.json")) == []
