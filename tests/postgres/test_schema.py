"""The tables: made once, versioned, safe to make by many at the same time; several schemas and queues in a database."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest

import dibs
from dibs.errors import FormatError
from dibs.queues.postgres.schema import VERSION
from postgres.conftest import Open
from postgres.places import migrated, url
from servers.server import Server


@pytest.fixture
def schema() -> str:
    return f"s_{uuid4().hex}"


def test_many_make_the_tables_at_the_same_time(postgres: Server, schema: str) -> None:
    place = url(postgres, schema)
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: migrated(place), range(8)))
    assert sorted(made) == [(0, VERSION)] + [(VERSION, VERSION)] * 7


def test_many_open_what_is_not_there_at_the_same_time(postgres: Server, schema: str, open_queue: Open) -> None:
    place = url(postgres, schema, "one")
    with ThreadPoolExecutor(8) as pool:
        queues = list(pool.map(lambda _: open_queue(place), range(8)))
    for queue in queues:
        queue.push(1)
    assert len(list(queues[0].tasks())) == 8


def test_what_is_not_there_is_not_made_by_looking(postgres: Server, schema: str, connection: Any) -> None:
    place = url(postgres, schema, "one")
    with pytest.raises(FormatError, match="dibs migrate"):
        dibs.open(place, create=False)
    assert connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (schema,)).fetchone() is None
    migrated(place)
    with pytest.raises(FormatError, match="no queue 'one'"):
        dibs.open(place, create=False)
    dibs.open(place).close()
    dibs.open(place, create=False).close()


@pytest.mark.parametrize(("version", "words"), [(VERSION + 1, "upgrade dibs"), (VERSION - 1, "dibs migrate")])
def test_another_version_is_refused(postgres: Server, schema: str, connection: Any, version: int, words: str) -> None:
    place = url(postgres, schema, "one")
    migrated(place)
    connection.execute(f"DELETE FROM {schema}.versions")
    connection.execute(f"INSERT INTO {schema}.versions (version, by) VALUES (%s, 'somebody')", (version,))
    with pytest.raises(FormatError, match=words) as refusal:
        dibs.open(place)
    assert "\n" not in str(refusal.value)
    if version > VERSION:
        with pytest.raises(FormatError, match=words):
            migrated(place)


def test_a_queue_that_was_made_keeps_its_retention(postgres: Server, schema: str, connection: Any) -> None:
    dibs.open(url(postgres, schema, "one", retention=5)).close()
    dibs.open(url(postgres, schema, "one")).close()
    assert connection.execute(f"SELECT name, retention FROM {schema}.queues").fetchall() == [("one", 5.0)]


def test_queues_and_schemas_do_not_see_each_other(postgres: Server, schema: str, open_queue: Open) -> None:
    places = [url(postgres, schema, "one"), url(postgres, schema, "two"), url(postgres, f"{schema}b", "one")]
    queues = [open_queue(place) for place in places]
    tasks = [queue.push(n, key="same") for n, queue in enumerate(queues)]
    assert not any(task.duplicate for task in tasks)
    queues[0].pause("only this")
    waiting = queues[1].push("waits", after=["same"])
    for n, queue in enumerate(queues[1:], 1):
        lease = queue.claim()
        assert lease is not None and lease.id == tasks[n].id
        lease.complete()
    assert queues[1].get(waiting.id).state == "ready"
    assert queues[0].claim() is None
    assert queues[0].stats().total == 1
    assert queues[1].purge(older_than=0) == 1
    assert [queue.stats().total for queue in queues] == [1, 1, 1]
    with pytest.raises(dibs.TaskNotFound):
        queues[0].get(waiting.id)


HOSTILE = ["'; DROP TABLE tasks; --", 'a"b', "100%s %(x)s", "{schema} {limit}", "a\\b", "é🦀 \n\t", "; SELECT 1;"]


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_a_hostile_name_is_only_a_name(postgres: Server, schema: str, open_queue: Open, name: str) -> None:
    named = schema[:10] + name
    queue = open_queue(url(postgres, named, name))
    first = queue.push({"n": name}, key=name, project=name, labels=[name, "other"])
    second = queue.push(2, after=[name])
    assert queue.push(3, key=name).id == first.id
    lease = queue.claim(project=name, labels=[name])
    assert lease is not None and lease.task.labels == tuple(sorted([name, "other"]))
    queue.pause(name)
    assert queue.paused == name
    queue.resume()
    lease.fail(name, retry=False)
    assert queue.detail(name).error == name
    queue.retry(name)
    assert queue.stats().projects == {name: {"ready": 1}}
    lease = queue.claim(wait=60)
    assert lease is not None and lease.id == first.id
    lease.complete(name)
    assert queue.get(second.id).state == "ready"
    assert [task.id for task in queue.tasks(project=name)] == [first.id]


@pytest.mark.parametrize(
    ("setting", "value"),
    [("queue", ""), ("queue", "a\0b"), ("queue", "x" * 129), ("schema", "x" * 64), ("schema", ""),
     ("schema", "a$b"), ("pool_size", "0"),
     ("pool_size", "1.5"), ("pool_size", "many"), ("retention", "-1"), ("retention", "nan"), ("pooler", "maybe"),
     ("colour", "red")],
)  # fmt: skip
def test_a_wrong_setting_is_refused_by_name(postgres: Server, setting: str, value: str) -> None:
    with pytest.raises(dibs.BadInput, match=setting) as refusal:
        dibs.open(url(postgres, **{"queue": "q", setting: value}))
    assert "\n" not in str(refusal.value)
