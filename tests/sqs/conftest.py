"""What the tests of the SQS backend share."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import dibs
from dibs.queues.sqs import SqsQueue
from sqs.server import Server, sqs_server

__all__ = ["sqs_server"]

Open = Callable[..., SqsQueue]


@pytest.fixture
def url(sqs_server: Server) -> str:
    return sqs_server.url()


@pytest.fixture
def open_sqs(url: str) -> Iterator[Open]:
    """Open the queue of this test, the same each time."""
    opened: list[SqsQueue] = []

    def open_one(address: str = url, **options: Any) -> SqsQueue:
        queue = dibs.open(address, **options)
        assert isinstance(queue, SqsQueue)
        opened.append(queue)
        return queue

    yield open_one
    for queue in opened:
        queue.close()


@pytest.fixture
def queue(open_sqs: Open) -> SqsQueue:
    return open_sqs()
