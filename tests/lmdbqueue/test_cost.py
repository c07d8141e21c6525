"""What a step costs: entries of the database that are touched, and transactions. Neither grows with the queue."""

import os
from pathlib import Path

import pytest

import dibs
from dibs.queues.queue import Queue
from dibs.task import NewTask
from lmdbqueue.reckoning import Reckoning

MANY = 1_000_000 if os.environ.get("DIBS_LONG") else 4_000


@pytest.fixture
def reckoning() -> Reckoning:
    return Reckoning()


def transactions(queue: Queue) -> int:
    count: int = queue._database.last  # type: ignore[attr-defined]
    return count


def cost(queue: Queue, reckoning: Reckoning, **wanted: str) -> int:
    """Of a claim and its completion, as in the midst of many."""
    for _ in range(3):
        lease = queue.claim(**wanted)  # type: ignore[arg-type]
        assert lease is not None
        reckoning.take()
        lease = queue.claim(**wanted)  # type: ignore[arg-type]
        assert lease is not None
        lease.complete()
        spent = reckoning.take()
    return spent


@pytest.mark.parametrize("wanted", [{}, {"project": "a"}, {"labels": "x"}, {"max_priority": "normal"}], ids=str)
def test_a_claim_costs_the_same_among_many(
    tmp_path: Path, reckoning: Reckoning, monkeypatch: pytest.MonkeyPatch, wanted: dict[str, str]
) -> None:
    monkeypatch.setattr("dibs.queues.lmdb.claimer.TEND_SECONDS", 1e9)  # not by chance in one of the two
    monkeypatch.setattr("dibs.queues.lmdb.claimer.RESCUE_SECONDS", 1e9)
    reckoning.install(monkeypatch)
    found = []
    for count in (20, MANY):
        with dibs.open(f"lmdb:{tmp_path}/{count}?sync=off") as queue:
            urgent, plain = NewTask(priority=100, project="b"), NewTask(project="a", labels=["x"])
            for start in range(0, count, 1000):
                size = min(1000, count - start)
                queue.push_many([NewTask(delay=1e6), urgent, *[plain] * (size - 2)])
                queue.push_many(range(size))
                queue.complete_many(queue.claim_many(size // 2, project="a"))
            found.append(cost(queue, reckoning, **wanted))
    print(f"{wanted}: {found[0]} entries among 20 tasks, {found[1]} among {MANY:,}")
    assert found[1] <= found[0] + 1 <= 25, "one more where the task has a project"


@pytest.mark.parametrize("sync", ["on", "off"])
def test_a_call_is_one_transaction(tmp_path: Path, sync: str) -> None:
    with dibs.open(f"lmdb:{tmp_path}/q?sync={sync}") as queue:
        counts = [transactions(queue)]

        def counted() -> int:
            counts.append(transactions(queue))
            return counts[-1] - counts[-2]

        queue.push_many(range(300))
        assert counted() == 1
        queue.push(1, key="k", after=["other"])
        assert counted() == 1
        leases = queue.claim_many(100)
        assert (len(leases), counted()) == (100, 1)
        leases[0].renew()
        assert counted() == 1
        assert queue.complete_many(leases) == []
        assert counted() == 1
        lease = queue.claim()
        assert lease is not None
        assert counted() == 1
        assert queue.complete_and_claim(lease) is not None
        assert counted() == 1, "the next claim comes with the completion"


def test_an_idle_claimer_writes_nothing_and_locks_nobody_out(
    tmp_path: Path, reckoning: Reckoning, monkeypatch: pytest.MonkeyPatch
) -> None:
    with dibs.open(f"lmdb:{tmp_path}/q?sync=off") as queue:
        queue.push(1, delay=1000.0)
        assert queue.claim() is None
        before = transactions(queue)
        reckoning.install(monkeypatch)
        for _ in range(20):
            assert queue.claim() is None
        assert queue.claim(wait=0.2) is None
        assert (transactions(queue), reckoning.writes) == (before, 0)


def test_what_is_waited_for_many_times_is_freed_in_parts(tmp_path: Path) -> None:
    with dibs.open(f"lmdb:{tmp_path}/q?sync=off") as queue:
        first = queue.push("first", priority="high")
        queue.push_many(NewTask(payload=n, after=[first.id]) for n in range(450))
        lease = queue.claim()
        assert lease is not None
        lease.complete()
        states = queue.stats().states
        assert (states["blocked"], states["ready"]) == (350, 100)
        assert queue.purge("completed", older_than=0) == 0, "the rest is still to be freed by it"
        seen = {lease.id for _ in range(450) if (lease := queue.claim()) is not None}
        assert len(seen) == 450
        assert queue.claim() is None
