"""The contract on `redis://`, whole on Redis and a part on Valkey, in the tests' own time; what needs several processes
runs in the server's."""

from typing import Any
from uuid import uuid4

import pytest

import dibs
from dibs.queues.queue import Queue
from dibs.queues.redis import RedisQueue
from dibs.testing import ManualClock, QueueContract
from dibs.testing.harness import Contract
from dibs.testing.topics.basics import Basics
from dibs.testing.topics.chains import Chains
from dibs.testing.topics.leases import Leases
from dibs.testing.topics.races import Races
from dibs.testing.topics.waiting import Waiting
from redisqueue import manual_time
from servers.server import Server


class Served(Contract):
    capabilities = RedisQueue.capabilities
    race_tasks = 300
    kind = "redis_server"

    @pytest.fixture(autouse=True)
    def _serve(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, _prepare: None) -> None:
        assert isinstance(self.clock, ManualClock)
        manual_time.install(monkeypatch, self.clock)
        server: Server = request.getfixturevalue(self.kind)
        self._url = f"{server.endpoint}/0?queue=q{uuid4().hex}&warn=off"

    def place(self) -> str:
        return self._url

    def make_queue(self, **options: Any) -> Queue:
        return dibs.open(self._url, **options)


class TestRedis(Served, QueueContract):
    pass


class TestValkey(Served, Basics, Leases, Chains, Waiting, Races):
    kind = "valkey"
