"""What a claim costs does not grow with the queue: the pages it touches are counted, nothing is timed."""

import os
from collections.abc import Callable, Iterator
from hashlib import md5
from typing import Any
from uuid import uuid4

import pytest

import dibs
from dibs.facets import make_filter
from dibs.queues.postgres import PostgresQueue
from dibs.queues.postgres.claiming import Claimer
from dibs.queues.postgres.driver import Connection, Row
from postgres.places import connected, url
from servers.server import Server

FEW, MANY = 300, 250_000 if os.environ.get("DIBS_LONG") else 30_000
SLACK = 60  # pages: what tests before have rolled back lies dead in the indexes, and nothing is vacuumed
FILL = """
INSERT INTO {schema}.tasks (queue, id, state, priority, at, project, labels, key, record)
SELECT %(queue)s, md5(%(state)s || n)::uuid, %(state)s::{schema}.state, 50,
       CASE %(state)s WHEN 'ready' THEN 0 WHEN 'completed' THEN 1e9 + n ELSE 9e9 END,
       CASE WHEN n %% 10 = 0 THEN 'tenth' END, CASE WHEN n %% 1000 = 0 THEN '{rare}'::text[] ELSE '{}' END,
       CASE WHEN n %% 7 = 0 THEN %(state)s || n END, '{"id":"' || md5(%(state)s || n) || '","payload":' || n || '}'
FROM generate_series(1, %(count)s) n
"""
UNTOUCHED = "UPDATE {schema}.tasks SET beat = beat WHERE xmax <> 0"  # what is undone stays marked, and is passed over
CLAIMS: dict[str, dict[str, Any]] = {
    "plain": {},
    "of a project": {"project": "tenth"},
    "up to a priority": {"max_priority": 60},
    "of a project that is not there": {"project": "absent"},
}
HELD: dict[str, Any] = {
    "id": md5(b"claimed1").hexdigest(), "seen_epoch": 0, "seen_holder": "", "event": None, "longest": 50,
}  # fmt: skip
HELD_MANY: dict[str, Any] = {
    "id": [md5(f"claimed{n}".encode()).hexdigest() for n in range(1, 21)], "epoch": 0, "holder": "",
}  # fmt: skip
LABELS: dict[str, dict[str, Any]] = {
    "with a label": {"labels": ["rare"]},
    "with a label that is not there": {"labels": ["absent"]},
}


def fill(connection: Connection, queue: PostgresQueue, count: int) -> None:
    query = FILL.replace("{schema}", queue._address.schema).encode()
    for state in ("ready", "scheduled", "completed", "claimed"):
        connection.execute(query, {"queue": queue._database.queue, "state": state, "count": count})


class Explained(Exception):
    """Carries the pages that were touched."""


def pages(queue: PostgresQueue, verb: str, ask_it: Callable[[Connection], object], *, analyze: bool = False) -> int:
    """How many pages a statement touches, as the server counts them; it is undone, and what was analyzed for it."""
    database, ask = queue._database, queue._database.ask

    def explain(connection: Connection, asked: str, parts: dict[str, str] | None = None, **values: Any) -> list[Row]:
        if asked != verb:
            return ask(connection, asked, parts, **values)
        query = b"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + database.statements.get(verb, **(parts or {}))
        row = connection.execute(query, {"queue": database.queue, **values}).fetchone()
        assert row is not None
        plan = row[0][0]["Plan"]
        raise Explained(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])

    database.ask = explain  # type: ignore[method-assign]
    try:
        with database.connections.one() as connection, connection.transaction(force_rollback=True):
            if analyze:
                connection.execute(f"ANALYZE {queue._address.schema}.tasks".encode())
            ask_it(connection)
    except Explained as explained:
        return int(explained.args[0])
    finally:
        database.ask = ask  # type: ignore[method-assign]
        with database.connections.one() as connection:
            connection.execute(UNTOUCHED.replace("{schema}", queue._address.schema).encode())
    raise AssertionError(f"no {verb} was sent")


@pytest.fixture(scope="module", params=["now", "before"])
def sizes(request: pytest.FixtureRequest, postgres: Server) -> Iterator[tuple[PostgresQueue, PostgresQueue]]:
    """A small queue and a large one. The server's statistics are of now, or of before the large one was filled."""
    place = url(postgres, f"scale_{uuid4().hex[:8]}")
    few, many = dibs.open(place + "few"), dibs.open(place + "many")
    assert isinstance(few, PostgresQueue) and isinstance(many, PostgresQueue)
    schema = few._address.schema
    with few._database.connections.one() as connection:
        connection.execute(f"ALTER TABLE {schema}.tasks SET (autovacuum_enabled = off)".encode())
        fill(connection, few, FEW)
        if request.param == "before":
            connection.execute(f"ANALYZE {schema}.tasks".encode())
        fill(connection, many, MANY)
        if request.param == "now":
            connection.execute(f"ANALYZE {schema}.tasks".encode())
    with few, many:
        yield few, many


def claim_pages(queue: PostgresQueue, verb: str, limit: int, *, analyze: bool = False, **wanted: Any) -> int:
    claimer = Claimer(queue._database, queue.clock)

    def claim(connection: Connection) -> None:
        more = {"chain": HELD, "chain_many": HELD_MANY}.get(verb, {})
        claimer.ask(connection, verb, limit, 60.0, make_filter(**wanted), "nobody", 1.0, **more)

    return pages(queue, verb, claim, analyze=analyze)


@pytest.mark.parametrize("limit", [1, 20])
@pytest.mark.parametrize("verb", ["claim", "grab", "chain", "chain_many"])
@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_touches_no_more_pages_in_a_long_queue(
    sizes: tuple[PostgresQueue, PostgresQueue], name: str, verb: str, limit: int
) -> None:
    small, large = (claim_pages(queue, verb, limit, **CLAIMS[name]) for queue in sizes)
    assert large <= small * 1.5 + SLACK, f"{small} pages of {FEW} tasks, {large} of {MANY}"


@pytest.mark.parametrize("limit", [1, 20])
@pytest.mark.parametrize("name", LABELS)
def test_a_claim_by_label_touches_pages_of_what_has_it(
    sizes: tuple[PostgresQueue, PostgresQueue], name: str, limit: int
) -> None:
    assert claim_pages(sizes[1], "claim", limit, analyze=True, **LABELS[name]) < 100 + MANY / 1000 * 20


STEPS: dict[str, dict[str, Any]] = {
    "complete": {"epoch": 0, "holder": "", "event": ["{}"] * 20, "longest": 50},
    "complete_plain": {"epoch": 0, "holder": ""},
    "complete_one": {"seen_epoch": 0, "seen_holder": "", "event": "{}", "longest": 50},
    "renew": {"epoch": 0, "session": "", "sent": -1.0, "drift": 1.0, "margin": 1.0},
    "glance": {},
    "promote": {},
}


@pytest.mark.parametrize("verb", STEPS)
def test_a_step_touches_no_more_pages_in_a_long_queue(sizes: tuple[PostgresQueue, PostgresQueue], verb: str) -> None:
    ids = [md5(f"claimed{n}".encode()).hexdigest() for n in range(1, 21)]
    values = {"id": ids if verb in ("complete", "complete_plain", "glance") else ids[0], **STEPS[verb]}
    small, large = (
        pages(queue, verb, lambda connection, queue=queue: queue._database.ask(connection, verb, **values))
        for queue in sizes
    )
    assert large <= small * 1.5 + SLACK, f"{small} pages of {FEW} tasks, {large} of {MANY}"


def touched(looking: Connection, queue: PostgresQueue) -> int:
    """Pages of this schema that were touched so far, by either connection."""
    with queue._database.connections.one() as connection:
        for each in (connection, looking):
            each.execute("SELECT pg_stat_force_next_flush()")
    row = looking.execute(
        "SELECT sum(heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read) FROM pg_statio_user_tables "
        "WHERE schemaname = %s",
        (queue._address.schema,),
    ).fetchone()
    assert row is not None
    return int(row[0])


def test_a_plan_that_was_made_for_an_empty_queue_stays_good(postgres: Server) -> None:
    with dibs.open(url(postgres, f"empty_{uuid4().hex[:8]}", pool_size=1)) as queue:
        assert isinstance(queue, PostgresQueue)
        schema = queue._address.schema
        with queue._database.connections.one() as connection:
            connection.execute(f"ALTER TABLE {schema}.tasks SET (autovacuum_enabled = off)".encode())

        def work() -> None:
            for lease in queue.claim_many(3):
                lease.renew()
                lease.complete()
            queue.complete_many(queue.claim_many(3))
            for lease in queue.claim_many(2):
                lease.release(0.001)
            ended = queue.claim()
            if ended is not None:
                queue.end(queue.handle(ended))
            queue.cancel(queue.push("cancelled", key="k").id)
            queue.purge("cancelled", older_than=0)

        for _ in range(12):  # by now the server has made its plans
            queue.push_many(range(8))
            work()
            while (lease := queue.claim(wait=0.01)) is not None:
                lease.complete()
        with connected(postgres) as looking:
            fill(looking, queue, MANY)
            before = touched(looking, queue)
            work()
            after = touched(looking, queue)
        assert 0 < after - before < 2000
