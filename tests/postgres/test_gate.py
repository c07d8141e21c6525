"""The gate of a PostgreSQL queue: what the contract does not ask of every backend."""

from itertools import islice
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from dibs.errors import TaskNotFound
from dibs.queues.parcel import Outcome, Parcel
from dibs.queues.postgres import PostgresQueue
from dibs.queues.postgres.driver import Connection
from dibs.queues.queue import Queue
from dibs.states import State
from dibs.task import NewTask, make_task
from dibs.values import replace
from moving.places import GOING, fill
from postgres.conftest import Open
from postgres.places import connected, url
from postgres.test_scale import touched
from servers.server import Server

AWAY = "file:/somewhere/else"


def send_off(queue: Queue, to: str = AWAY) -> None:
    gate = queue.gate()
    for state in GOING:
        gate.depart(list(gate.export(state)), to)


def test_what_has_departed_is_not_told_of(queue: PostgresQueue) -> None:
    gone = queue.push("gone", key="k", labels=["a"])
    waits = queue.push("waits", after=[gone.id, "k"])
    failed = queue.push("fails", priority=200, max_attempts=1)
    lease = queue.claim()
    assert lease is not None and lease.id == failed.id
    lease.fail("it broke")
    gate = queue.gate()
    assert len(gate.depart([*gate.export(State.READY), *gate.export(State.FAILED)], AWAY)) == 2
    assert queue.stats().total == 1
    assert queue.detail(waits.id).waits_for == ((gone.id, "unknown"), ("k", "unknown"))
    with pytest.raises(TaskNotFound, match=f"it is on its way to {AWAY}"):
        queue.get(gone.id)
    with pytest.raises(TaskNotFound, match="dibs list"):
        queue.get("k")
    lease.state, lease.token.unsure = "held", True
    lease.fail("it broke")  # its answer had been lost: that it was done is found out all the same


def test_nothing_departs_but_from_how_it_was_packed(queue: PostgresQueue) -> None:
    names = ("released", "held", "cancelled", "retried", "same")
    tasks = {name: queue.push(name, key=name, priority=200 - n) for n, name in enumerate(names)}
    queue.cancel("retried")
    gate = queue.gate()
    packed = [parcel for state in (State.READY, State.CANCELLED) for parcel in gate.export(state)]
    assert len(packed) == 5
    released, held = queue.claim_many(2)
    released.release()
    queue.cancel("cancelled")
    queue.retry("retried")
    gone = gate.depart([*packed, *gate.export(State.CLAIMED)], AWAY)
    assert [parcel.id for parcel in gone] == [parcel.id for parcel in gate.departed()] == [tasks["same"].id]
    held.complete()
    assert {task.key: str(task.state) for task in queue.tasks()} == {
        "released": "ready", "held": "completed", "cancelled": "cancelled", "retried": "ready",
    }  # fmt: skip


def test_a_push_that_is_sent_again_does_not_double_what_has_departed(queue: PostgresQueue) -> None:
    task = make_task(NewTask(payload=1, key="k"), queue.clock, queue.store_time())
    assert queue._insert([task])[0].id == task.id
    send_off(queue)
    assert queue._insert([task])[0].id == task.id
    assert queue.stats().total == 0


def test_nothing_is_left_of_what_was_dismissed(queue: PostgresQueue, connection: "psycopg.Connection[Any]") -> None:
    fill(queue)
    queue.purge(older_than=0)
    send_off(queue)
    queue.gate().dismiss(queue.gate().departed())
    left = "SELECT 1 FROM dibs.tasks WHERE queue = %(id)s UNION ALL SELECT 1 FROM dibs.waits WHERE queue = %(id)s"
    assert connection.execute(left, {"id": queue._database.queue}).fetchall() == []


def fetched(looking: Connection, queue: PostgresQueue) -> int:
    """Rows of this schema that were looked at so far, by either connection."""
    touched(looking, queue)
    row = looking.execute(
        "SELECT sum(idx_tup_fetch + seq_tup_read) FROM pg_stat_user_tables WHERE schemaname = %s AND relname = 'tasks'",
        (queue._address.schema,),
    ).fetchone()
    assert row is not None
    return int(row[0])


def test_a_plan_that_was_made_for_an_empty_queue_stays_good(open_queue: Open, postgres: Server) -> None:
    queue = open_queue(url(postgres, f"moved_{uuid4().hex[:8]}", pool_size=1))
    gate = queue.gate()

    def pass_through(parcels: list[Parcel]) -> None:
        gate.dismiss(gate.depart(parcels, AWAY))
        gate.admit(parcels)

    for n in range(12):  # by now the server has made its plans
        queue.push(n, key=f"k{n}")
        pass_through(list(gate.export(State.READY)))
    queue.push_many(range(30_000))
    parcels = list(islice(gate.export(State.READY), 100))
    with connected(postgres) as looking:
        before = fetched(looking, queue)
        pass_through(parcels)
        assert 0 < fetched(looking, queue) - before < 3000


def test_only_the_departure_that_is_meant_is_dismissed(queue: PostgresQueue) -> None:
    """A mover that slept while the task went there, came back, and has left again."""
    queue.push(1)
    gate = queue.gate()
    packed = list(gate.export(State.READY))
    (slept,) = gate.depart(packed, AWAY)
    assert gate.depart(packed, AWAY) == [slept]  # its answer had been lost
    assert gate.depart(packed, "file:/elsewhere") == []
    gate.dismiss([slept])
    gate.admit([slept])
    send_off(queue)
    gate.dismiss([slept])
    (again,) = gate.departed(AWAY)
    gate.dismiss([replace(again, to="file:/elsewhere")])
    assert [parcel.id for parcel in gate.departed()] == [slept.id]
    gate.dismiss([again])
    assert list(gate.departed()) == []


def test_who_waits_by_id_is_told_by_what_comes_after_it(queue: PostgresQueue, open_queue: Open, place: str) -> None:
    other = open_queue(f"{place}-other")
    first = queue.push("first")
    waits = queue.push("waits", after=[first.id])
    gate = queue.gate()
    (blocked,) = gate.export(State.BLOCKED)
    (ready,) = gate.export(State.READY)
    assert other.gate().admit([blocked])[waits.id] is Outcome.ADDED
    assert other.gate().admit([ready])[first.id] is Outcome.ADDED
    lease = other.claim()
    assert lease is not None and lease.id == first.id
    lease.complete()
    assert other.get(waits.id).state is State.READY


def test_a_key_that_was_to_be_unique_among_completed_ones(queue: PostgresQueue, open_queue: Open, place: str) -> None:
    other = open_queue(f"{place}-other")
    mine = queue.push("mine", key="k", unique="completed")
    (parcel,) = queue.gate().export(State.READY)
    other.push("theirs", key="k")
    lease = other.claim()
    assert lease is not None
    admitting = other.gate()._admitting
    taken = admitting.taken

    def completed_meanwhile(*args: object, **more: object) -> dict[str, str]:
        if lease.state == "held":
            lease.complete()
            return {}
        return taken(*args, **more)  # type: ignore[arg-type]

    admitting.taken = completed_meanwhile  # type: ignore[method-assign]
    assert admitting.admit([parcel]) == {mine.id: Outcome.DUPLICATE}
    assert (other.get(mine.id).state, other.get("k").id) == (State.FAILED, lease.id)
    assert other.gate().admit([parcel]) == {mine.id: Outcome.THERE}
