"""PostgreSQL as it is met: a user who owns one schema and nothing else, a connection that is cut."""

from typing import Any
from uuid import uuid4

import psycopg
import pytest

import dibs
from dibs.doctor import Finding, Level, examine
from dibs.doctor.servers import postgres as doctors
from dibs.doctor.servers.racing import raced
from doctor.broken import name_of_one_gone
from postgres.places import url as postgres_url
from servers.server import Server

PROMISED_SECONDS = 30


def owner_of(server: Server, schema: str) -> str:
    """The URL of a queue in a schema, for the user who owns it and has no other right."""
    user = f"u{uuid4().hex[:12]}"
    with psycopg.connect(server.endpoint, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {user} LOGIN")
        connection.execute(f'CREATE SCHEMA "{schema}" AUTHORIZATION {user}')
    return f"{server.endpoint.replace('//dibs@', f'//{user}@')}?queue=q&schema={schema.replace('%', '%25')}"


def left(server: Server) -> list[Any]:
    """What of ours is there, of no other test's."""
    sql = "SELECT relname FROM pg_class WHERE relname LIKE 'dibs_doctor_%' UNION ALL "
    sql += "SELECT nspname FROM pg_namespace WHERE nspname LIKE 'dibs_doctor_%'"
    with psycopg.connect(server.endpoint) as connection:
        return connection.execute(sql).fetchall()


@pytest.mark.parametrize("schema", ["plain", 'Of "two" %s words'])
def test_who_owns_the_schema_of_the_queue_needs_no_other_right(postgres: Server, schema: str) -> None:
    url = owner_of(postgres, f"{schema.replace(chr(34), '')} {uuid4().hex[:8]}")
    with dibs.open(url) as queue:
        queue.push("it works")
    report = examine(url, quick=True)
    found = {one.check: one for one in report.findings}
    assert (found["one winner"].level, found["one winner"].many) == (Level.GOOD, True), found["one winner"]
    assert report.seconds <= PROMISED_SECONDS


def test_before_there_is_a_schema_one_is_made_and_removed(postgres: Server) -> None:
    schema = f"s{uuid4().hex}"
    report = examine(f"{postgres_url(postgres).partition('?')[0]}?queue=q&schema={schema}", quick=True)
    assert {one.check: one.level for one in report.findings}["one winner"] is Level.GOOD
    with psycopg.connect(postgres.endpoint) as connection:
        assert connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (schema,)).fetchone() is None


def test_a_schema_that_a_killed_doctor_left_is_dropped(postgres: Server) -> None:
    schema = f"dibs_doctor_{name_of_one_gone('_')}"
    with psycopg.connect(postgres.endpoint, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute(f"CREATE TABLE {schema}.{schema} (id int)")
    examine(postgres_url(postgres), quick=True)
    assert (schema,) not in left(postgres)


def test_a_connection_that_is_cut_leaves_nothing(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def cut_then_raced(acts: str, place: list[str], *args: Any, **more: Any) -> Finding:
        made.append(place[2])
        with psycopg.connect(postgres.endpoint, autocommit=True) as connection:
            asked = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE strpos(query, %s) > 0 AND pid <> %s"
            assert connection.execute(asked, (place[2], connection.info.backend_pid)).fetchall() == [(True,)]
        return raced(acts, place, *args, **more)

    monkeypatch.setattr(doctors, "raced", cut_then_raced)
    report = examine(postgres_url(postgres), quick=True)
    assert {one.check: one.level for one in report.findings}["one winner"] is Level.GOOD
    assert (made[0],) not in left(postgres)
