"""Over a store a fresh task is a seed. Who takes its first step may be helped before it knows that it was in time."""

from pathlib import Path

import pytest

from dibs.moving import move
from dibs.queues.queue import Queue
from dibs.queues.stored.layout import parse_marker
from dibs.states import State
from dibs.stores.memory import MemoryStore

from .places import Stored, open_place


class Helped(MemoryStore):
    """As soon as a task has a cell, somebody meets its seed."""

    helper: Stored | None = None

    def create(self, key: str, data: bytes) -> str:
        version = super().create(key, data)
        if self.helper is not None and key.startswith("tasks/"):
            for seed in list(self.list("pending/")):
                marker = parse_marker(seed)
                assert marker is not None
                self.helper._cells.settle(marker)
        return version


@pytest.fixture
def source() -> Queue:
    store = Helped()
    queue = Stored("stored:helped", store)
    store.helper = Stored("stored:helped", store)
    return queue


def test_a_task_that_departs_is_not_lost_when_others_help(source: Queue, tmp_path: Path) -> None:
    target = open_place("file", f"{tmp_path}/b")
    ids = {task.id for task in source.push_many([1, 2, 3])}
    report = move(source, target)
    assert (report.total, report.verified) == (3, True)
    assert {task.id for task in target.tasks()} == ids
    assert list(source.tasks()) == []


def test_a_task_that_is_cancelled_is_not_lost_when_others_help(source: Queue) -> None:
    task = source.push(1)
    assert source.cancel(task.id).state is State.CANCELLED
    assert source.get(task.id).state is State.CANCELLED
    assert [each.id for each in source.tasks(State.CANCELLED)] == [task.id]
