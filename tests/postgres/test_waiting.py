"""Waiting for work: woken by the server, or asking now and then; and what an idle worker asks."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from dibs.queues.postgres import PostgresQueue
from dibs.queues.postgres.lease import PostgresLease
from postgres.conftest import Open
from postgres.places import ServerClock, shifted_schema, url
from servers.server import Server
from waiting import until

LONG = 60.0


class Waiter:
    """A thread that waits for a task."""

    def __init__(self, queue: PostgresQueue) -> None:
        self.queue = queue
        self.found: Any = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        self.found = self.queue.claim(wait=LONG)

    def listens(self) -> None:
        """Until it does, and has looked again since."""
        until(lambda: self.queue._listening.works is not None and self.queue.sent.get("claim", 0) >= 2)

    def join(self) -> PostgresLease:
        self._thread.join()
        assert isinstance(self.found, PostgresLease)
        return self.found


@pytest.fixture
def waiter(open_queue: Open, monkeypatch: pytest.MonkeyPatch) -> Waiter:
    """One that would look again only after a minute by itself."""
    monkeypatch.setattr(PostgresQueue, "first_pause", LONG)
    monkeypatch.setattr(PostgresQueue, "idle_seconds", LONG)
    waiter = Waiter(open_queue())
    waiter.listens()
    return waiter


def test_a_push_wakes_who_waits(waiter: Waiter, open_queue: Open) -> None:
    task = open_queue().push("work")
    assert waiter.join().id == task.id
    assert waiter.queue.sent["claim"] <= 4


def test_the_last_of_many_pushes_is_told_of(waiter: Waiter, open_queue: Open) -> None:
    """Pushes that follow each other closely do not each tell; the last of them is told of all the same."""
    queue = open_queue()
    queue._telling._told = queue.clock.boottime() + 3600  # as if another push had told just now
    task = queue.push("work")
    assert waiter.join().id == task.id
    assert queue.sent["tell"] == 1


@pytest.mark.parametrize("how", ["released", "failed", "ended", "retried", "freed", "resumed", "scheduled"])
def test_whatever_becomes_ready_wakes_who_waits(waiter: Waiter, open_queue: Open, how: str) -> None:
    queue = open_queue()
    queue.pause()
    first = queue.push("first", priority=0)
    queue.resume()
    first_lease = waiter.join()
    assert first_lease.id == first.id
    again = Waiter(waiter.queue)
    if how == "released":
        first_lease.release()
    elif how == "failed":
        first_lease.fail("no", retry=True)
    elif how == "ended":
        queue.end(queue.handle(first_lease))
    elif how == "retried":
        queue.cancel(first.id)
        queue.retry(first.id)
    elif how == "freed":
        queue.push("second", after=[first.id])
        first_lease.complete()
    elif how == "resumed":
        queue.pause()
        queue.push("second")
        queue.resume()
    else:
        queue.push("second", delay=0.3)
    assert again.join().state == "held"


def test_a_queue_that_is_closed_lets_its_waiters_go(waiter: Waiter, open_queue: Open) -> None:
    open_queue().push("work")
    waiter.join()
    waiter.queue.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "dibs-listening"]


def test_behind_a_pooler_everybody_asks(open_queue: Open, place: str) -> None:
    queue = open_queue(place + "&pooler=yes")
    waiter = Waiter(queue)
    task = open_queue().push("work")
    assert waiter.join().id == task.id
    assert queue._listening.works is None


def test_words_that_do_not_come_through_are_noticed(open_queue: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = open_queue()
    real = queue._database.statements.get
    silent = lambda verb, **parts: b"SELECT 1, %(word)s::text" if verb == "tell" else real(verb, **parts)  # noqa: E731
    monkeypatch.setattr(queue._database.statements, "get", silent)
    monkeypatch.setattr("dibs.queues.postgres.listening._PROBE_SECONDS", 0.2)
    waiter = Waiter(queue)
    waiter.listens()
    assert queue._listening.works is False
    task = open_queue().push("work")
    assert waiter.join().id == task.id


class TestIdle:
    """In moved time: ten minutes of a worker with nothing to do."""

    @pytest.fixture
    def clock(self, postgres: Server) -> Iterator[ServerClock]:
        clock = ServerClock(postgres, shifted_schema(postgres))
        yield clock
        clock.close()

    @pytest.fixture
    def worker(self, postgres: Server, clock: ServerClock, open_queue: Open) -> PostgresQueue:
        return open_queue(url(postgres, shifted_schema(postgres)), clock=clock)

    @pytest.mark.parametrize("beside", ["nothing", "tasks that wait for long", "a task held by another"])
    def test_an_idle_worker_asks_seldom(
        self, worker: PostgresQueue, clock: ServerClock, open_queue: Open, beside: str
    ) -> None:
        other = open_queue(worker.url, clock=clock)
        if beside == "tasks that wait for long":
            other.push("later", delay=86400.0)
            other.push("never", after=["unknown"])
        elif beside == "a task held by another":
            other.push("held")
            assert other.claim(ttl=86400.0) is not None
        assert worker.claim(wait=60.0) is None
        before = sum(worker.sent.values())
        assert worker.claim(wait=600.0) is None
        assert sum(worker.sent.values()) - before < 100
