"""The contract on `redis://`, whole, in the tests' own time; what needs several processes runs in the server's."""

from typing import Any
from uuid import uuid4

import pytest

import dibs
from dibs.queues.queue import Queue
from dibs.queues.redis import RedisQueue
from dibs.testing import ManualClock, QueueContract
from redisqueue import manual_time
from servers.server import Server


class TestRedis(QueueContract):
    capabilities = RedisQueue.capabilities
    race_tasks = 300

    @pytest.fixture(autouse=True)
    def _serve(self, redis_server: Server, monkeypatch: pytest.MonkeyPatch, _prepare: None) -> None:
        assert isinstance(self.clock, ManualClock)
        manual_time.install(monkeypatch, self.clock)
        self._url = f"{redis_server.endpoint}/0?queue=q{uuid4().hex}&warn=off"

    def place(self) -> str:
        return self._url

    def make_queue(self, **options: Any) -> Queue:
        return dibs.open(self._url, **options)
