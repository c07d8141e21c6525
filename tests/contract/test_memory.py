"""The contract on `memory:`."""

from typing import Any

import dibs
from dibs.queues.memory import MemoryQueue
from dibs.queues.queue import Queue
from dibs.testing import QueueContract


class TestMemory(QueueContract):
    capabilities = MemoryQueue.capabilities

    def make_queue(self, **options: Any) -> Queue:
        return dibs.open(f"memory:{self.tmp_path}", **options)
