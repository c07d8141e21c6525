"""Daemons, workers and both killed in the middle of work."""

import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import dibs
from children import command, environment
from serve.process import PROGRAM, Process

TASKS = 600
KILLS = 3


@pytest.fixture
def serving(quick_folder: Path) -> Iterator[Process]:
    process = Process(quick_folder, f"file:{quick_folder}/q?sync=off")
    yield process
    process.kill()


def start(url: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(command("serve.laborer", url), stdout=subprocess.PIPE, text=True, env=environment())


def test_a_lease_outlives_the_daemon(serving: Process) -> None:
    with dibs.open(serving.url("q")) as queue:
        queue.push_many([1, 2])
        lease, other = queue.claim_many(2, ttl=600)
        serving.kill()
        serving.start()
        lease.renew()
        assert lease.held
        assert queue.claim() is None
        lease.complete("after")
        other.release()
        assert queue.detail(lease.id).result == "after"
        again = queue.claim()
        assert again is not None
        assert (again.id, again.epoch) == (other.id, 2)


def test_half_through_the_daemon_and_half_on_the_files(serving: Process, quick_folder: Path) -> None:
    """The daemon is killed again and again, and so is a worker of each kind: nothing lost, nothing completed twice."""
    direct = f"file:{quick_folder}/q?sync=off"
    with dibs.open(direct) as queue:
        ids = {task.id for task in queue.push_many({"n": n} for n in range(TASKS))}
        workers = [start(serving.url("q") if n % 2 else direct) for n in range(4)]
        pause = threading.Event()
        for kill in range(1, KILLS + 1):
            while queue.stats().states.get("completed", 0) < TASKS * kill // (KILLS + 2):
                pause.wait(0.02)
            serving.kill()
            if kill == KILLS:
                for victim in workers[:2]:
                    victim.kill()
                workers += [start(direct)]
            serving.start()
            if kill == KILLS:
                workers += [start(serving.url("q"))]
        said = [line.split()[0] for worker in workers for line in worker.communicate(timeout=120)[0].splitlines()]
        states = {state: count for state, count in queue.stats().states.items() if count}
        assert states == {"completed": TASKS}
        assert [task_id for task_id, times in Counter(said).items() if times > 1] == []
        assert set(said) <= ids
        assert len(said) >= TASKS - 2  # each of the killed may have completed one without saying so


def test_it_ends_in_good_order(serving: Process, quick_folder: Path) -> None:
    with dibs.open(f"unix:{quick_folder}/s/q") as queue:
        queue.push(1)
        lease = queue.claim(ttl=600)
        assert lease is not None
        assert serving.end() == 0
        assert not (quick_folder / "s").exists()
        serving.start()
        lease.complete()


def test_a_command_works_through_a_daemon(serving: Process, quick_folder: Path) -> None:
    with dibs.open(serving.url("q")) as queue:
        queue.push_many(range(20))
        words = [PROGRAM, "work", serving.url("q"), "-j", "2", "--until-empty", "--", "true"]
        done = subprocess.run(words, capture_output=True, text=True, env=environment(), timeout=120)
        assert done.returncode == 0, done.stderr
        assert queue.stats().states["completed"] == 20
