"""The server is killed and started again under load: what was acknowledged is there, and nothing is completed twice."""

import os
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator

import pytest

import dibs
from children import command, environment
from dibs.queues.postgres import PostgresQueue
from servers.postgres_server import Postgres, running
from waiting import until

KILLS = 12 if os.environ.get("DIBS_LONG") else 2
TASKS_BETWEEN = 150


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with running(sync=True) as server:
        yield server


class Pusher(threading.Thread):
    """Pushes one task after another, and knows which were acknowledged."""

    def __init__(self, place: str) -> None:
        super().__init__()
        self._place = place
        self.acknowledged: list[str] = []
        self.over = threading.Event()

    def run(self) -> None:
        with dibs.open(self._place) as queue:
            number = 0
            while not self.over.is_set():
                number += 1
                try:
                    task = queue.push({"n": number}, key=f"k{number}" if number % 3 == 0 else None, max_deaths=1000)
                except dibs.StorageError:
                    continue
                self.acknowledged.append(task.id)


def test_nothing_acknowledged_is_lost_and_nothing_is_completed_twice(server: Postgres) -> None:
    place = f"{server.url}?queue=restart"
    dibs.open(place).close()
    workers = [
        subprocess.Popen(
            command("postgres.load", place),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        for _ in range(3)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    pusher = Pusher(place)
    pusher.start()
    for kill in range(1, KILLS + 1):
        until(lambda kill=kill: len(pusher.acknowledged) >= kill * TASKS_BETWEEN)
        server.kill()
        server.start()
    until(lambda: len(pusher.acknowledged) >= (KILLS + 1) * TASKS_BETWEEN)
    pusher.over.set()
    pusher.join()
    with dibs.open(place) as queue:
        until(lambda: not any(queue.stats().states[state] for state in ("ready", "scheduled", "claimed")))
        told = [line for worker in workers for line in worker.communicate()[0].split()]
        tasks = {task.id: task for task in queue.tasks()}
        assert set(pusher.acknowledged) <= set(tasks)
        assert {task.state for task in tasks.values()} == {"completed"}
        assert [times for times in Counter(told).values() if times > 1] == []
        assert set(told) <= set(tasks)
        assert len(told) >= len(pusher.acknowledged)
        for task_id in tasks:
            endings = [event.what for event in queue.detail(task_id).history]
            assert endings.count("completed") == 1
    assert all(worker.returncode == 0 for worker in workers)


def test_who_waits_is_woken_after_a_restart(server: Postgres) -> None:
    place = f"{server.url}?queue=waiting"
    waiting, pushing = dibs.open(place), dibs.open(place)
    assert isinstance(waiting, PostgresQueue)
    found: list[dibs.Lease | None] = []
    thread = threading.Thread(target=lambda: found.append(waiting.claim(wait=60)))
    thread.start()
    until(lambda: bool(waiting._listening.works))
    server.kill()
    server.start()
    task = pushing.push("after the restart")
    thread.join()
    assert found[0] is not None
    assert found[0].id == task.id
    waiting.close()
    pushing.close()


def test_a_server_that_stays_away_is_said_so(server: Postgres) -> None:
    with dibs.open(f"{server.url}?queue=away") as queue:
        assert isinstance(queue, PostgresQueue)
        queue._database.patience = 0.2
        task = queue.push(1)
        lease = queue.claim()
        assert lease is not None
        server.kill()
        for ask in (queue.claim, lease.complete, lease.renew, lambda: queue.push(2), queue.stats):
            with pytest.raises(dibs.StorageError) as refusal:
                ask()
            assert "\n" not in str(refusal.value)
        server.start()
        lease.complete("after all")
        assert queue.detail(task.id).result == "after all"
