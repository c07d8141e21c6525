"""The contract on `s3://`, against a real server.

Its time is the tests' own: what the server says about when an object was written is replaced by when, in that time,
it was. `tests/objects` has what needs the server's real clock.
"""

import time
from typing import Any
from uuid import uuid4

import pytest

import dibs
from dibs.queues.objects import ObjectsQueue
from dibs.queues.queue import Queue
from dibs.stores.objects import ObjectStore
from dibs.stores.store import Entry
from dibs.testing import ManualClock, QueueContract
from servers.server import Server


@pytest.fixture(scope="module")
def bucket(seaweed: Server) -> str:
    return seaweed.bucket()


class TestS3(QueueContract):
    capabilities = ObjectsQueue.capabilities
    race_tasks = 60

    @pytest.fixture(autouse=True)
    def _bucket(self, seaweed: Server, bucket: str) -> None:
        self._server = seaweed
        self._place = (bucket, f"queues/{uuid4().hex}")

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
        return self._server.url(*self._place, fresh=0.3, upkeep=0.02, idle=0.05, timeout=60)

    def make_queue(self, **options: Any) -> Queue:
        return dibs.open(self.place(), **options)
