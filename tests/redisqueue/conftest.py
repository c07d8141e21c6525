"""A queue of its own for every test, on the server of the session or on one that the test may kill."""

from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

import dibs
from dibs.queues.queue import Queue
from redisqueue.own_server import OwnServer
from servers.redis_proxy import LosingProxy
from servers.server import Server


@pytest.fixture
def url(redis_server: Server) -> str:
    return f"{redis_server.endpoint}/0?queue=q{uuid4().hex}&warn=off"


@pytest.fixture
def queue(url: str) -> Iterator[Queue]:
    with dibs.open(url) as opened:
        yield opened


@pytest.fixture
def proxy(redis_server: Server) -> Iterator[LosingProxy]:
    with LosingProxy(int(redis_server.endpoint.rpartition(":")[2])) as running:
        yield running


@pytest.fixture
def through(proxy: LosingProxy, url: str) -> str:
    """The same queue, by way of the proxy."""
    return f"redis://127.0.0.1:{proxy.port}/0?{url.partition('?')[2]}"


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Callable[..., OwnServer]]:
    started: list[OwnServer] = []

    def start(*settings: str) -> OwnServer:
        server = OwnServer(tmp_path, *settings)
        started.append(server)
        server.start()
        return server

    yield start
    for server in started:
        server.kill()
