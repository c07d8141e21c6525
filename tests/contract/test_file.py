"""The contract on `file:`, as it is by default and in its variants."""

from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs.queues.queue import Queue
from dibs.testing import ManualClock, QueueContract
from disk.shifted import ShiftedFs


class TestFile(QueueContract):
    settings = "?sync=off"

    def make_queue(self, **options: Any) -> Queue:
        if isinstance(options["clock"], ManualClock):
            options["fs"] = ShiftedFs(self.clock)
        return dibs.open(self.place(), **options)

    def place(self) -> str:
        return f"file:{self.tmp_path}/q{self.settings}"


class TestFileWithMarkers(TestFile):
    settings = "?sync=off&steps=marker"
    race_tasks = 400
    thread_tasks = 300


class TestFileWithOneShard(TestFile):
    settings = "?shards=1"
    race_tasks = 1000

    @pytest.fixture
    def tmp_path(self, quick_folder: Path) -> Path:
        return quick_folder
