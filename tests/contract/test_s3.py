"""The contract on `s3://`, against a real server."""

from typing import Any
from uuid import uuid4

import pytest

import dibs
from dibs.queues.objects import ObjectsQueue
from dibs.queues.queue import Queue
from dibs.testing import QueueContract
from servers.server import Server


@pytest.fixture(scope="module")
def bucket(seaweed: Server) -> str:
    return seaweed.bucket()


class TestS3(QueueContract):
    capabilities = ObjectsQueue.capabilities
    real_time = True
    tick = 0.1
    race_tasks = 60

    @pytest.fixture(autouse=True)
    def _bucket(self, seaweed: Server, bucket: str) -> None:
        self._server = seaweed
        self._place = (bucket, f"queues/{uuid4().hex}")

    def place(self) -> str:
        return self._server.url(*self._place, fresh=0.3, upkeep=0.02, idle=0.05, timeout=60)

    def make_queue(self, **options: Any) -> Queue:
        return dibs.open(self.place(), **options)
