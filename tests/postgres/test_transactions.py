"""Push and complete as a part of the caller's own transaction."""

import threading
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

import dibs
from dibs.queues.postgres import PostgresQueue
from dibs.queues.postgres.lease import PostgresLease
from dibs.states import State
from postgres.conftest import Open
from postgres.places import connected
from servers.server import Server
from waiting import until


@pytest.fixture
def effects(postgres: Server) -> Iterator["psycopg.Connection[Any]"]:
    """The user's own table, in a transaction of the user's."""
    with connected(postgres) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS effects (name text PRIMARY KEY)")
    with psycopg.connect(postgres.endpoint) as connection:
        yield connection
        connection.rollback()


def rows(postgres: Server, name: str) -> int:
    with connected(postgres) as connection:
        found = connection.execute("SELECT count(*) FROM effects WHERE name = %s", (name,)).fetchone()
    assert found is not None
    return int(found[0])


def claimed(queue: PostgresQueue, **options: Any) -> PostgresLease:
    lease = queue.claim(**options)
    assert isinstance(lease, PostgresLease)
    return lease


def test_effect_and_completion_commit_together(queue: PostgresQueue, effects: Any, postgres: Server) -> None:
    task = queue.push("work")
    lease = claimed(queue)
    effects.execute("INSERT INTO effects VALUES (%s)", (task.id,))
    lease.complete("result", connection=effects)
    assert queue.get(task.id).state is State.CLAIMED
    assert rows(postgres, task.id) == 0
    effects.commit()
    assert queue.detail(task.id).result == "result"
    assert rows(postgres, task.id) == 1
    assert lease.state == "completed"


def test_what_is_rolled_back_was_not_completed(queue: PostgresQueue, effects: Any, postgres: Server) -> None:
    task = queue.push("work")
    lease = claimed(queue)
    effects.execute("INSERT INTO effects VALUES (%s)", (task.id,))
    lease.complete("result", connection=effects)
    effects.rollback()
    assert rows(postgres, task.id) == 0
    held = queue.get(task.id)
    assert (held.state, held.epoch) == (State.CLAIMED, 1)
    queue.lease(task.id, 1).complete("after all")
    assert queue.detail(task.id).result == "after all"


def test_a_lost_lease_takes_its_effects_back(open_queue: Open, effects: Any, postgres: Server) -> None:
    queue, other = open_queue(), open_queue()
    task = queue.push("work")
    lease = claimed(queue)
    other.cancel(task.id)
    with pytest.raises(dibs.LeaseLost, match="cancelled"), effects.transaction():
        effects.execute("INSERT INTO effects VALUES (%s)", (task.id,))
        lease.complete("result", connection=effects)
    assert rows(postgres, task.id) == 0
    assert lease.state == "lost"


def test_a_push_is_there_when_the_transaction_commits(queue: PostgresQueue, effects: Any, postgres: Server) -> None:
    kept = queue.push("kept", key="k", connection=effects)
    effects.execute("INSERT INTO effects VALUES (%s)", (kept.id,))
    assert queue.claim() is None
    effects.commit()
    dropped = queue.push("dropped", key="d", after=[kept.id], connection=effects)
    assert dropped.state is State.BLOCKED
    effects.rollback()
    assert [task.id for task in queue.tasks()] == [kept.id]
    assert rows(postgres, kept.id) == 1
    assert not queue.push("again", key="d").duplicate


def test_a_committed_push_wakes_who_waits(open_queue: Open, effects: Any) -> None:
    waiting, pushing = open_queue(), open_queue()
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(waiting.claim(wait=60)))
    thread.start()
    until(lambda: waiting._listening.works)
    task = pushing.push("work", connection=effects)
    effects.commit()
    thread.join()
    assert found[0].id == task.id


def test_a_lease_is_kept_while_its_transaction_is_open(open_queue: Open, effects: Any) -> None:
    """Whoever beats for it neither waits for the transaction nor says that it is lost; nobody takes it over."""
    queue, guard, other = open_queue(), open_queue(), open_queue()
    task = queue.push("work")
    lease = claimed(queue, ttl=4.0)
    handle = queue.handle(lease)
    assert guard.beat(handle) is not None
    lease.complete("slowly", connection=effects)
    assert guard.beat(handle) is not None
    assert other.claim(wait=5.0) is None  # it has run out, but is in the middle of a step
    effects.commit()
    assert queue.detail(task.id).result == "slowly"


def test_what_waits_is_freed_with_the_commit(queue: PostgresQueue, effects: Any) -> None:
    first = queue.push("first")
    second = queue.push("second", after=[first.id])
    claimed(queue).complete(connection=effects)
    assert queue.get(second.id).state is State.BLOCKED
    effects.commit()
    assert queue.get(second.id).state is State.READY


def test_a_failed_transaction_says_so(queue: PostgresQueue, effects: Any) -> None:
    queue.push("work")
    lease = claimed(queue)
    with pytest.raises(psycopg.Error):
        effects.execute("SELECT nonsense")
    with pytest.raises(dibs.StorageError, match="roll it back"):
        lease.complete(connection=effects)
    effects.rollback()
    assert lease.held
    lease.complete()


def test_other_backends_refuse_a_connection(effects: Any) -> None:
    memory = dibs.open("memory:")
    with pytest.raises(TypeError):
        memory.push(1, connection=effects)  # type: ignore[call-arg]


def test_a_key_that_completes_at_this_moment_counts_as_completed(open_queue: Open, effects: Any) -> None:
    queue, other = open_queue(), open_queue()
    first = queue.push(1, key="k", unique="completed")
    claimed(queue).complete("done", connection=effects)
    pushed: list[dibs.Task] = []
    thread = threading.Thread(target=lambda: pushed.append(other.push(2, key="k", unique="completed")))
    thread.start()
    wait_for_lock(effects, thread)
    effects.commit()
    thread.join()
    assert (pushed[0].id, pushed[0].duplicate, pushed[0].state) == (first.id, True, State.COMPLETED)
    assert queue.claim() is None


def test_the_last_of_two_that_complete_at_once_frees_what_waits_for_both(open_queue: Open, effects: Any) -> None:
    queue, other = open_queue(), open_queue()
    left, right = queue.push("left"), queue.push("right")
    bottom = queue.push("bottom", after=[left.id, right.id])
    first, second = claimed(queue), claimed(other)
    first.complete(connection=effects)
    thread = threading.Thread(target=second.complete)
    thread.start()
    wait_for_lock(effects, thread)
    effects.commit()
    thread.join()
    assert queue.get(bottom.id).state is State.READY


def wait_for_lock(mine: Any, thread: threading.Thread) -> None:
    """Until somebody waits for what this transaction has locked."""
    with psycopg.connect(mine.info.dsn, autocommit=True) as looking:
        while thread.is_alive():
            pid = mine.info.backend_pid
            blocked = looking.execute(
                "SELECT 1 FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid))", (pid,)
            ).fetchone()
            if blocked:
                return
