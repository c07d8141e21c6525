"""Tasks whose cells are alike are taken and completed together. What holds is the same for all, also mixed."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs.queues.queue import Queue
from dibs.task import NewTask
from dibs.testing import ManualClock

KINDS: list[dict[str, Any]] = [
    {}, {"project": "p"}, {"labels": ["x"]}, {"priority": 60}, {"max_runtime": 50.0}, {"project": "p", "priority": 60},
]  # fmt: skip


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[Queue]:
    with dibs.open(f"lmdb:{tmp_path}/queue?sync=off") as opened:
        yield opened


def counts(queue: Queue) -> dict[str, int]:
    return {str(state): count for state, count in queue.stats().states.items() if count}


def test_one_batch_of_all_kinds(queue: Queue) -> None:
    queue.push_many(NewTask(payload=n, **KINDS[n % len(KINDS)]) for n in range(60))
    again = queue.claim_many(5, ttl=60)
    again[0].fail("once", retry=True)
    for lease in again[1:]:
        lease.release()
    leases = queue.claim_many(20, ttl=100) + queue.claim_many(100, ttl=100)
    assert len(leases) == 59
    assert {lease.id for lease in leases if lease.epoch == 2} == {lease.id for lease in again[1:]}
    limited = [lease for lease in leases if lease.task.max_runtime]
    assert {round(lease.deadline - lease.since, 3) for lease in limited} == {50.0}
    assert {round(lease.deadline - lease.since, 3) for lease in leases if lease not in limited} == {100.0}
    gone = [leases[3], leases[30]]
    for lease in gone:
        queue.cancel(lease.id)
    leases[7].result = {"r": 7}
    assert queue.complete_many(leases) == gone
    assert counts(queue) == {"completed": 57, "cancelled": 2, "scheduled": 1}
    assert sum(sum(row.values()) for row in queue.stats().priorities.values()) == 60
    assert queue.stats().projects["p"].keys() <= {"completed", "cancelled", "scheduled"}
    assert queue.detail(leases[7].id).result == {"r": 7}
    assert all(queue.get(lease.id).epoch == lease.epoch for lease in leases if lease not in gone)
    assert queue.claim_many(10, project="p") == []
    assert queue.claimed() == []


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("others", [0, 3])
def test_of_two_that_complete_one_task_in_a_batch_one_is_told(queue: Queue, kind: dict[str, Any], others: int) -> None:
    queue.push_many(NewTask(payload=n, **kind) for n in range(others + 1))
    leases = queue.claim_many(others + 1, ttl=60)
    other = queue.lease(leases[0].id, leases[0].epoch)
    assert queue.complete_many([*leases, other]) == [other]
    assert counts(queue) == {"completed": others + 1}
    assert [set(row) for row in queue.stats().priorities.values()] == [{"completed"}]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_stale_lease_in_a_batch_changes_nothing(queue: Queue, kind: dict[str, Any]) -> None:
    queue.push_many(NewTask(payload=n, **kind) for n in range(3))
    leases = queue.claim_many(3, ttl=60)
    leases[1].release()
    again = queue.claim(ttl=60)
    assert again is not None
    assert again.id == leases[1].id
    leases[1].state = "held"  # so it seems to one who slept
    assert queue.complete_many(leases) == [leases[1]]
    assert counts(queue) == {"completed": 2, "claimed": 1}
    again.complete()
    assert counts(queue) == {"completed": 3}


@pytest.mark.parametrize("number", [1, 3])
def test_nothing_is_held_longer_than_its_max_runtime(tmp_path: Path, number: int) -> None:
    clock = ManualClock()
    with dibs.open(f"lmdb:{tmp_path}/queue?sync=off", clock=clock) as queue:
        queue.push_many(NewTask(payload=n, max_runtime=5.0, max_attempts=1) for n in range(number))
        assert len(queue.claim_many(number, ttl=100)) == number
        clock.advance(4)
        assert queue.claim() is None
        assert counts(queue) == {"claimed": number}
        clock.advance(2)
        assert queue.claim() is None
        assert counts(queue) == {"failed": number}
