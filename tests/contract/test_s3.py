"""The contract on `s3://`: whole against SeaweedFS, in parts against moto with its writes locked.

Its time is the tests' own: what the server says about when an object was written is replaced by when, in that time,
it was. `tests/objects` has what needs the server's real clock.
"""

import time
from functools import cache
from typing import Any
from uuid import uuid4

import pytest

import dibs
from dibs.queues.objects import ObjectsQueue
from dibs.queues.queue import Queue
from dibs.stores.objects import ObjectStore
from dibs.stores.store import Entry
from dibs.testing import ManualClock, QueueContract
from dibs.testing.harness import Contract
from dibs.testing.topics.batches import Batches
from dibs.testing.topics.fencing import Fencing
from dibs.testing.topics.leases import Leases
from dibs.testing.topics.races import Races
from servers.server import Server


@cache
def bucket_on(server: Server) -> str:
    return server.bucket()


class OnBucket(Contract):
    """A queue of its own for every test, on one of the servers of the session."""

    capabilities = ObjectsQueue.capabilities
    server: str

    @pytest.fixture(autouse=True)
    def _bucket(self, request: pytest.FixtureRequest) -> None:
        self._server: Server = request.getfixturevalue(self.server)
        self._place = (bucket_on(self._server), f"queues/{uuid4().hex}")

    @pytest.fixture(autouse=True)
    def _shift_store_time(self, monkeypatch: pytest.MonkeyPatch, _prepare: None) -> None:
        started = time.time()
        clock = self.clock
        assert isinstance(clock, ManualClock)
        written: dict[str, float] = {}
        real_write, real_get = ObjectStore._write, ObjectStore.get

        def now(store: ObjectStore) -> float:
            return started + clock.advanced

        def write(store: ObjectStore, key: str, *what: Any) -> str:
            version = real_write(store, key, *what)
            written[version] = now(store)
            return version

        def get(store: ObjectStore, key: str) -> Entry | None:
            entry = real_get(store, key)
            return entry and entry._replace(modified=written.get(entry.version, entry.modified))

        monkeypatch.setattr(ObjectStore, "now", now)
        monkeypatch.setattr(ObjectStore, "_write", write)
        monkeypatch.setattr(ObjectStore, "get", get)

    def place(self) -> str:
        return self._server.url(*self._place, fresh=0.3, upkeep=0.3, idle=0.4, timeout=60)

    def make_queue(self, **options: Any) -> Queue:
        return dibs.open(self.place(), **options)


class TestS3(OnBucket, QueueContract):
    server = "seaweed"
    race_tasks = 30
    thread_tasks = 200
    thread_keys = 5


class TestMoto(OnBucket, Batches, Fencing, Leases, Races):
    """Another server's answers, and its races. It is slow, so only what depends on them."""

    server = "moto"
    race_tasks = 6
    thread_tasks = 60
    test_threads_push_claim_fail_and_release_together = None
    test_threads_claim_each_task_once = None
