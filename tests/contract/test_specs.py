"""The contract on `specs:`: a folder of markdown files."""

from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs.queues.queue import Queue
from dibs.queues.specs import SpecsQueue
from dibs.testing import ManualClock, QueueContract
from dibs.testing.topics.keys import HOSTILE
from disk import store_time


class TestSpecs(QueueContract):
    capabilities = SpecsQueue.capabilities
    race_tasks = 500

    @pytest.fixture
    def tmp_path(self, quick_folder: Path) -> Path:
        return quick_folder

    @pytest.fixture(autouse=True)
    def _shift_store_time(self, monkeypatch: pytest.MonkeyPatch, _prepare: None) -> None:
        """The file server's clock moves with the manual one."""
        assert isinstance(self.clock, ManualClock)
        (self.tmp_path / ".dibs" / "specs").mkdir(parents=True)
        store_time.install(monkeypatch)

    def make_queue(self, **options: Any) -> Queue:
        return dibs.open(self.place(), **options)

    def place(self) -> str:
        return f"specs:{self.tmp_path}/.dibs/specs"

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
            assert [path.name for path in (self.tmp_path / ".dibs" / "specs").iterdir()] == [f"{key}.md"]
        assert [path.name for path in self.tmp_path.iterdir()] == [".dibs"]
