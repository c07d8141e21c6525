"""The contract over HTTP with other queues behind the daemon than files: a part of it each, six topics with DIBS_LONG.

How each is put into the tests' own time is as in the tests of that queue itself.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

import dibs
from contract.test_remote import Serving
from contract.test_s3 import OnBucket
from dibs.clock import Clock
from dibs.queues.directory import DirectoryQueue
from dibs.queues.lmdb import LmdbQueue
from dibs.queues.objects import ObjectsQueue
from dibs.queues.postgres import PostgresQueue
from dibs.queues.queue import Queue
from dibs.queues.redis import RedisQueue
from dibs.queues.specs import SpecsQueue
from dibs.queues.views import Capabilities
from dibs.testing import ManualClock
from dibs.testing.harness import Contract
from dibs.testing.topics.attempts import Attempts
from dibs.testing.topics.basics import Basics
from dibs.testing.topics.batches import Batches
from dibs.testing.topics.fencing import Fencing
from dibs.testing.topics.leases import Leases
from dibs.testing.topics.races import Races
from dibs.values import replace
from disk import store_time
from postgres.places import ServerClock, shifted_schema, url
from redisqueue import manual_time
from servers.server import Server

if os.environ.get("DIBS_LONG"):

    class Topics(Basics, Leases, Fencing, Attempts, Batches, Races): ...

else:

    class Topics(Fencing): ...  # type: ignore[no-redef]


def over_http(capabilities: Capabilities) -> Capabilities:
    return replace(capabilities, processes=True, admits=False)


class Elsewhere(Serving):
    """`own` is the URL of the queue behind."""

    own: str
    race_tasks = 30
    thread_tasks = 60
    thread_keys = 5
    test_a_host_that_booted_again_counts_no_death = None

    def behind(self, clock: Clock) -> Queue:
        return dibs.open(self.own, pid=None, clock=clock)


class TestLmdb(Elsewhere, Topics):
    capabilities = over_http(LmdbQueue.capabilities)

    @pytest.fixture(autouse=True)
    def _own(self, _prepare: None) -> None:
        self.own = f"lmdb:{self.tmp_path}/q?sync=off"


class TestRedis(Elsewhere, Topics):
    capabilities = over_http(RedisQueue.capabilities)

    @pytest.fixture(autouse=True)
    def _own(self, redis_server: Server, monkeypatch: pytest.MonkeyPatch, _prepare: None) -> None:
        assert isinstance(self.clock, ManualClock)
        manual_time.install(monkeypatch, self.clock)
        self.own = f"{redis_server.endpoint}/0?queue=q{uuid4().hex}&warn=off"


class TestPostgres(Elsewhere, Topics):
    capabilities = over_http(PostgresQueue.capabilities)
    tick = 10.0

    @pytest.fixture(autouse=True)
    def _own(self, postgres: Server, _prepare: None) -> Iterator[None]:
        schema = shifted_schema(postgres)
        self.clock = clock = ServerClock(postgres, schema)
        self.own = url(postgres, schema, uuid4().hex)
        yield
        clock.close()


class InFolder(Contract):
    @pytest.fixture
    def tmp_path(self, quick_folder: Path) -> Path:
        return quick_folder

    @pytest.fixture(autouse=True)
    def _shift_store_time(self, monkeypatch: pytest.MonkeyPatch, _prepare: None) -> None:
        store_time.install(monkeypatch)


class TestDir(InFolder, Elsewhere, Topics):
    capabilities = over_http(DirectoryQueue.capabilities)

    @pytest.fixture(autouse=True)
    def _own(self, _prepare: None) -> None:
        (self.tmp_path / "in").mkdir()
        self.own = f"dir:{self.tmp_path}/in?done={self.tmp_path}/out&settle=0"


class TestSpecs(InFolder, Elsewhere, Topics):
    capabilities = over_http(SpecsQueue.capabilities)

    @pytest.fixture(autouse=True)
    def _own(self, _prepare: None) -> None:
        (self.tmp_path / ".dibs" / "specs").mkdir(parents=True)
        self.own = f"specs:{self.tmp_path}/.dibs/specs"


if os.environ.get("DIBS_LONG"):  # its server takes ten seconds to start

    class TestObjects(Elsewhere, OnBucket, Topics):
        capabilities = over_http(ObjectsQueue.capabilities)
        server = "seaweed"
        race_tasks = 6

        @pytest.fixture(autouse=True)
        def _own(self, _bucket: None) -> None:
            self.own = self._server.url(*self._place, fresh=0.3, upkeep=0.3, idle=0.4, timeout=60)
