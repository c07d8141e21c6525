"""A schema of version 1 that is in use is brought up to date, and nothing in it is lost."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest

import dibs
from dibs.errors import FormatError, StorageError
from dibs.queues.postgres import PostgresQueue
from dibs.queues.postgres.schema import VERSION
from postgres.conftest import Open
from postgres.places import migrated, url
from postgres.version_1 import DUE, ENDED, EXPIRES, FAILED, IDS, SESSION, SINCE, make
from servers.server import Server


@pytest.fixture
def schema(connection: Any) -> str:
    name = f"old_{uuid4().hex[:12]}"
    make(connection, name)
    return name


@pytest.fixture
def moved(postgres: Server, schema: str, open_queue: Open) -> PostgresQueue:
    place = url(postgres, schema, "one")
    with pytest.raises(FormatError, match=f"version 1, .* needs {VERSION}; run `dibs migrate"):
        dibs.open(place)
    assert migrated(place) == (1, VERSION)
    return open_queue(place)


def test_many_migrate_at_the_same_time(postgres: Server, schema: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: migrated(url(postgres, schema)), range(8)))
    assert sorted(made) == [(1, VERSION)] + [(VERSION, VERSION)] * 7


def test_every_task_stands_where_it_stood(moved: PostgresQueue) -> None:
    for name, task_id in IDS.items():
        if name != "departed":
            task = moved.get(name)
            assert (task.id, task.state, task.payload) == (task_id, name, name)
            assert (task.priority, task.project, task.labels) == (70, "p", ("a", "b"))
            assert (task.max_attempts, task.max_deaths, task.backoff, task.max_runtime) == (4, 6, 2, 7)
            assert [listed.id for listed in moved.tasks(name)] == [task_id]
            assert moved.push("again", key=name).duplicate is (name in ("ready", "scheduled", "blocked", "claimed"))
    with pytest.raises(dibs.TaskNotFound, match="on its way to file:elsewhere"):
        moved.get(IDS["departed"])


def test_every_moment_is_the_one_that_was(moved: PostgresQueue, schema: str, connection: Any) -> None:
    assert moved.detail("scheduled").due == DUE
    assert [moved.detail(name).ended_at for name in ("completed", "failed", "cancelled")] == [ENDED] * 3
    assert [moved.detail(name).ended_at for name in ("ready", "claimed", "scheduled")] == [None] * 3
    (claim,) = moved.claimed()
    assert (claim.id, claim.worker, claim.host, claim.claimed_at) == (IDS["claimed"], SESSION, "host", SINCE)
    (row,) = connection.execute(f"SELECT extract(epoch FROM expires) FROM {schema}.overview WHERE state = 'claimed'")
    assert float(row[0]) == EXPIRES
    assert moved.detail("failed").history == (FAILED,)
    (event,) = moved.detail("completed").history
    assert (event.what, event.epoch, event.worker, event.at) == ("completed", 2, SESSION, ENDED)


def test_what_departed_can_still_come_back(moved: PostgresQueue) -> None:
    (parcel,) = moved.gate().departed()
    assert (parcel.id, parcel.to, parcel.state, parcel.due) == (IDS["departed"], "file:elsewhere", "scheduled", DUE)
    moved.gate().dismiss([parcel])
    assert not list(moved.gate().departed())


def test_work_goes_on(moved: PostgresQueue, schema: str, connection: Any) -> None:
    moved.lease(IDS["claimed"], 2)
    connection.execute(f"UPDATE {schema}.tasks SET at = 1 WHERE state IN ('claimed', 'scheduled')")
    leases = {lease.id: lease for lease in moved.claims()}
    assert leases.keys() == {IDS[name] for name in ("ready", "scheduled", "claimed")}
    assert leases[IDS["claimed"]].epoch == 3 and leases[IDS["claimed"]].task.deaths == 1
    leases[IDS["claimed"]].complete()
    assert moved.get("blocked").state == "ready"
    assert moved.retry("failed").state == "ready"
    assert moved.purge(older_than=0) == 2 and moved.purge("cancelled", older_than=0) == 1


ALIKE = {
    "columns": """SELECT table_name, column_name, udt_name, is_nullable, column_default, collation_name
        FROM information_schema.columns WHERE table_schema = %(schema)s""",
    "indexes": "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = %(schema)s",
    "constraints": """SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = %(schema)s::regnamespace AND contype <> 'n'""",
    "options": """SELECT relname, relkind, array(SELECT unnest(reloptions) ORDER BY 1) FROM pg_class
        WHERE relnamespace = %(schema)s::regnamespace AND relkind IN ('r', 'v', 'i')""",
    "functions": "SELECT proname, pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = %(schema)s::regnamespace",
    "view": "SELECT pg_get_viewdef((%(schema)s || '.overview')::regclass)",
    "states": """SELECT enumlabel, row_number() OVER (ORDER BY enumsortorder) FROM pg_enum e JOIN pg_type t
        ON t.oid = e.enumtypid WHERE t.typnamespace = %(schema)s::regnamespace""",
}


@pytest.mark.parametrize("what", ALIKE)
def test_a_new_schema_is_like_one_that_was_migrated(
    what: str, moved: PostgresQueue, schema: str, postgres: Server, open_queue: Open, connection: Any
) -> None:
    new = f"new_{uuid4().hex[:12]}"
    open_queue(url(postgres, new, "one"))

    def found(of: str) -> list[str]:
        rows = connection.execute(ALIKE[what], {"schema": of}).fetchall()
        return sorted(str(row).replace(of, "S") for row in rows)

    assert found(new) == found(schema)


def test_rights_on_tables_and_the_overview_stay(postgres: Server, schema: str, connection: Any) -> None:
    role = f"reader_{uuid4().hex[:12]}"
    connection.execute(f"CREATE ROLE {role}")
    try:
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {role}")
        migrated(url(postgres, schema))
        for name in ("tasks", "overview"):
            row = connection.execute(
                "SELECT has_table_privilege(%s, %s, 'SELECT')", (role, f"{schema}.{name}")
            ).fetchone()
            assert row == (True,)
    finally:
        connection.execute(f"DROP OWNED BY {role}")
        connection.execute(f"DROP ROLE {role}")


def test_nothing_is_pushed_into_a_queue_that_was_deleted(moved: PostgresQueue, schema: str, connection: Any) -> None:
    connection.execute(f"DELETE FROM {schema}.queues")
    with pytest.raises(StorageError, match=r"'one' .* has been deleted") as refusal:
        moved.push(1)
    assert "\n" not in str(refusal.value)


def test_who_works_on_while_the_tables_change_is_refused(moved: PostgresQueue, schema: str, connection: Any) -> None:
    lease = moved.claim()
    assert lease is not None
    connection.execute(f"ALTER TABLE {schema}.tasks RENAME COLUMN at TO later")
    with pytest.raises(FormatError, match="not those of this dibs") as refusal:
        lease.complete()
    assert "\n" not in str(refusal.value)
