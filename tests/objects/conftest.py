"""A bucket on a real server, and queues in it; through a proxy that can make trouble, where asked."""

from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest

from servers.proxy import FaultProxy
from servers.server import Server


@pytest.fixture(scope="session")
def bucket(seaweed: Server) -> str:
    return seaweed.bucket()


@pytest.fixture
def prefix() -> str:
    return f"queues/{uuid4().hex}"


@pytest.fixture
def url(seaweed: Server, bucket: str, prefix: str) -> Callable[..., str]:
    """The URL of this test's queue, with these settings."""
    return lambda **settings: seaweed.url(bucket, prefix, **settings)


@pytest.fixture
def proxy(seaweed: Server) -> Iterator[FaultProxy]:
    with FaultProxy(seaweed.endpoint) as proxy:
        yield proxy
