"""`dibs move` to Redis and away again: whole tasks, whoever dies in between."""

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

import dibs
from dibs import moving
from dibs.errors import BadInput
from dibs.queues.queue import Queue
from dibs.states import State


def move(*words: str) -> None:
    done = subprocess.run([sys.executable, "-m", "dibs", "move", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def fill(queue: Queue) -> None:
    queue.push_many({"n": n} for n in range(450))
    queue.push("keyed", key="k", labels=["x"], project="p", priority=70)
    queue.push("later", delay=5000)
    queue.push("waits", after=["k"])
    lease = queue.claim()
    assert lease is not None
    lease.fail("it broke", retry=False)


def seen(queue: Queue) -> dict[str, object]:
    return {
        task.id: (task.payload, str(task.state), task.epoch, task.attempts, task.key, task.labels)
        for state in (State.READY, State.SCHEDULED, State.BLOCKED, State.FAILED)
        for task in queue.tasks(state)
    }


def test_tasks_go_from_files_to_redis_to_lmdb_and_back(url: str, queue: Queue, tmp_path: Path) -> None:
    files = f"file:{tmp_path}/files"
    with dibs.open(files) as start:
        fill(start)
        before = seen(start)
    places = [files, url, f"lmdb:{tmp_path}/lmdb?sync=off", files]
    for source, target in pairwise(places):
        move(source, target)
        with dibs.open(source) as left, dibs.open(target) as there:
            assert seen(there) == before
            assert left.stats().total == 0
    assert queue.stats().total == 0


def test_a_move_that_was_interrupted_is_finished_by_the_next(url: str, queue: Queue, tmp_path: Path) -> None:
    fill(queue)
    before = seen(queue)
    target = f"lmdb:{tmp_path}/lmdb?sync=off"
    with dibs.open(target) as other:
        gate = queue.gate()
        gone = gate.depart(list(gate.export(State.READY))[:30], other.gate().address)
        assert len(gone) == 30
        other.gate().admit(gone[:10])  # and there it died
        assert queue.stats().states["ready"] == 450 - 30
        move(url, target)
        assert seen(other) == before
    assert queue.stats().total == 0
    assert list(queue.gate().departed()) == []


def test_one_queue_by_two_names_is_refused(url: str, queue: Queue) -> None:
    queue.push("stays")
    other = url.replace("127.0.0.1", "localhost")
    with dibs.open(other) as named_else, pytest.raises(BadInput, match="same queue"):
        moving.move(queue, named_else)
    assert queue.stats().states["ready"] == 1
