"""A queue of its own for each test, on the real server and in real time."""

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

import dibs
from dibs.queues.postgres import PostgresQueue
from postgres.places import connected, url
from servers.server import Server

Open = Callable[..., PostgresQueue]


@pytest.fixture
def place(postgres: Server) -> str:
    return url(postgres)


@pytest.fixture
def open_queue(place: str) -> Iterator[Open]:
    """Open the queue of this test, or another one."""
    opened: list[PostgresQueue] = []

    def open_one(at: str = place, **options: Any) -> PostgresQueue:
        queue = dibs.open(at, **options)
        assert isinstance(queue, PostgresQueue)
        opened.append(queue)
        return queue

    yield open_one
    for queue in opened:
        queue.close()


@pytest.fixture
def queue(open_queue: Open) -> PostgresQueue:
    return open_queue()


@pytest.fixture
def connection(postgres: Server) -> Iterator["psycopg.Connection[Any]"]:
    """One of the user's own, with autocommit."""
    with connected(postgres) as connection:
        yield connection
