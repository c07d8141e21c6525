"""The contract on `lmdb:`, whole. Without sync: what that is for is tested in tests/lmdbqueue."""

from typing import Any

import dibs
from dibs.queues.lmdb import LmdbQueue
from dibs.queues.queue import Queue
from dibs.testing import QueueContract


class TestLmdb(QueueContract):
    capabilities = LmdbQueue.capabilities
    race_tasks = 200
    test_a_step_between_look_and_step_counts = None  # type: ignore[assignment]  # they are one transaction

    def place(self) -> str:
        return f"lmdb:{self.tmp_path}/q?sync=off"

    def make_queue(self, **options: Any) -> Queue:
        return dibs.open(self.place(), **options)
