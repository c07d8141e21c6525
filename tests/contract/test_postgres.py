"""The contract on `postgres:`, on a real server. Its time is the tests' own: the function in the schema by which the
database tells the time is one that can be moved. It runs on, too, so a unit of the suite's time is long."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

import dibs
from dibs.queues.postgres import PostgresQueue
from dibs.queues.queue import Queue
from dibs.testing import QueueContract
from postgres.places import ServerClock, shifted_schema, url
from servers.server import Server


class TestPostgres(QueueContract):
    capabilities = PostgresQueue.capabilities
    tick = 10.0
    race_tasks = 100

    @pytest.fixture(autouse=True)
    def _serve(self, postgres: Server, _prepare: None) -> Iterator[None]:
        schema = shifted_schema(postgres)
        self.clock = clock = ServerClock(postgres, schema)
        self._url = url(postgres, schema, uuid4().hex)
        yield
        clock.close()

    def make_queue(self, **options: Any) -> Queue:
        return dibs.open(self._url, **options)

    def place(self) -> str:
        return self._url
