"""Queues on the server of the run: each test its own queue, each process its own schema, in which time can be moved."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from urllib.parse import parse_qsl, quote
from uuid import uuid4

import psycopg

from dibs.queues import split_url
from dibs.queues.postgres import PostgresQueue
from dibs.testing import ManualClock
from servers.server import Server


def url(server: Server, schema: str = "dibs", queue: str | None = None, **settings: object) -> str:
    given = {"schema": schema, "queue": uuid4().hex if queue is None else queue, **settings}
    return f"{server.endpoint}?" + "&".join(f"{name}={quote(str(value), safe='')}" for name, value in given.items())


def migrated(place: str) -> tuple[int, int]:
    _, path, query = split_url(place)
    return PostgresQueue.migrate(place, path, dict(parse_qsl(query)))


@cache
def shifted_schema(server: Server) -> str:
    """A schema whose clock can be moved, by `ServerClock`."""
    schema = f"shifted_{os.getpid()}_{uuid4().hex[:8]}"
    migrated(url(server, schema))
    with connected(server) as connection:
        connection.execute(f"CREATE TABLE {schema}.shift (seconds double precision NOT NULL)")
        connection.execute(f"INSERT INTO {schema}.shift VALUES (0)")
        connection.execute(
            f"CREATE OR REPLACE FUNCTION {schema}.store_time() RETURNS double precision LANGUAGE sql STABLE AS $$ "
            f"SELECT extract(epoch FROM statement_timestamp())::double precision + seconds FROM {schema}.shift $$"
        )
    return schema


@contextmanager
def connected(server: Server) -> Iterator[psycopg.Connection]:
    with psycopg.connect(server.endpoint, autocommit=True) as connection:
        yield connection


class ServerClock(ManualClock):
    """A manual clock that takes the database's along."""

    def __init__(self, server: Server, schema: str) -> None:
        super().__init__()
        self._connection = psycopg.connect(server.endpoint, autocommit=True)
        self._schema = schema

    def advance(self, seconds: float) -> None:
        super().advance(seconds)
        self._connection.execute(f"UPDATE {self._schema}.shift SET seconds = seconds + %s", (seconds,))

    def close(self) -> None:
        self._connection.close()
