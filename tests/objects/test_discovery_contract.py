"""The contract for each way to find ready tasks, over the memory store."""

from typing import Any

from dibs.queues.memory import MemoryQueue
from dibs.queues.objects.discovery.choice import Choice
from dibs.queues.queue import Queue
from dibs.testing import QueueContract
from objects.by_names import ByNames


class ByNamesContract(QueueContract):
    capabilities = MemoryQueue.capabilities

    def choice(self) -> Choice:
        raise NotImplementedError

    def make_queue(self, **options: Any) -> Queue:
        return ByNames.open(f"memory:{self.tmp_path}", f"{self.tmp_path}", {}, discover=self.choice(), **options)


class TestMirror(ByNamesContract):
    def choice(self) -> Choice:
        return Choice("mirror", f"{self.tmp_path}/mirror")


class TestManifest(ByNamesContract):
    def choice(self) -> Choice:
        return Choice("manifest")


class TestAnotherQueue(ByNamesContract):
    def choice(self) -> Choice:
        return Choice("queue", f"memory:{self.tmp_path}/names")
