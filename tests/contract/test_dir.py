"""The contract on `dir:`: a folder of somebody's files."""

import os
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs.queues.directory import DirectoryQueue
from dibs.queues.queue import Queue
from dibs.task import Task, encode
from dibs.testing import ManualClock, QueueContract
from dibs.testing.topics.keys import HOSTILE
from disk import store_time


class TestDir(QueueContract):
    capabilities = DirectoryQueue.capabilities

    @pytest.fixture
    def tmp_path(self, quick_folder: Path) -> Path:
        return quick_folder

    @pytest.fixture(autouse=True)
    def _shift_store_time(self, monkeypatch: pytest.MonkeyPatch, _prepare: None) -> None:
        """The file server's clock moves with the manual one."""
        assert isinstance(self.clock, ManualClock)
        (self.tmp_path / "in").mkdir()
        store_time.install(monkeypatch)

    def add(self, queue: Queue, payload: Any = None, **more: Any) -> Task:
        """As people do: a file appears in the folder."""
        name = f"{len(os.listdir(self.tmp_path / 'in'))}.json"
        (self.tmp_path / "in" / name).write_bytes(encode(payload))
        return queue.get(name)

    def make_queue(self, **options: Any) -> Queue:
        return dibs.open(self.place(), **options)

    def place(self) -> str:
        return f"dir:{self.tmp_path}/in?done={self.tmp_path}/out&settle=0"

    @pytest.mark.parametrize("key", HOSTILE, ids=ascii)
    def test_a_hostile_key_is_a_file_in_the_folder_or_refused(self, queue: Queue, key: str) -> None:
        try:
            task = queue.push({"n": 1}, key=key)
        except (dibs.BadInput, dibs.StorageError) as error:
            assert "\n" not in str(error)
            assert list(queue.tasks()) == []
        else:
            assert self.take(queue).id == task.id == key
            self.open().lease(key, 1).complete("done")
            assert (self.tmp_path / "in" / key).resolve().is_relative_to(self.tmp_path / "in")
        assert {path.name.partition(".")[0] for path in self.tmp_path.iterdir()} <= {"in", "out"}
