"""Some of the contract on `s3://`, against a real server, for each way to find ready tasks.

The whole of it runs over the memory store in `test_discovery_contract`, and by listing in `tests/contract/test_s3`.
"""

from typing import Any
from uuid import uuid4

import pytest

import dibs
from dibs.queues.objects import ObjectsQueue
from dibs.queues.queue import Queue
from dibs.testing.topics.filters import Filters
from dibs.testing.topics.races import Races
from dibs.testing.topics.waiting import Waiting
from servers.server import Server

RUN = [
    "test_processes_take_stale_leases_over_once",
    "test_waiting_finds_what_becomes_due",
    "test_waiting_finds_what_expires",
    "test_one_claimer_may_change_its_filter",
]


class OnS3(Races, Waiting, Filters):
    capabilities = ObjectsQueue.capabilities
    real_time = True
    tick = 0.1
    race_tasks = 30

    def way(self) -> dict[str, object]:
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _bucket(self, seaweed: Server, bucket: str) -> None:
        self._server = seaweed
        self._place = (bucket, f"queues/{uuid4().hex}")

    def place(self) -> str:
        settings = {"fresh": 0.3, "relist": 0.3, "upkeep": 0.02, "idle": 0.05, "timeout": 60}
        return self._server.url(*self._place, **settings, **self.way())

    def make_queue(self, **options: Any) -> Queue:
        return dibs.open(self.place(), **options)


for _name in [name for name in dir(OnS3) if name.startswith("test_") and name not in RUN]:
    setattr(OnS3, _name, None)


class TestMirror(OnS3):
    def way(self) -> dict[str, object]:
        return {"mirror": f"{self.tmp_path}/m"}


class TestManifest(OnS3):
    def way(self) -> dict[str, object]:
        return {"discover": "manifest"}


class TestAnotherQueue(OnS3):
    def way(self) -> dict[str, object]:
        return {"discover": f"file:{self.tmp_path}/names?sync=off"}


def test_every_test_named_here_exists() -> None:
    assert [name for name in RUN if getattr(OnS3, name, None) is None] == []
