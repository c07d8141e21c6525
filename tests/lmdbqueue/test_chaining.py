"""A completion that brings the next task: mostly by a way of its own, with the same outcome as by the general one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs.errors import LeaseLost
from dibs.queues.lmdb.claimer import Claimer
from dibs.queues.queue import Queue
from dibs.task import NewTask
from lmdbqueue.whole import check_whole

KINDS: list[dict[str, Any]] = [
    {}, {"project": "p"}, {"labels": ["x"]}, {"priority": 60}, {"max_runtime": 50.0}, {"key": "k"},
]  # fmt: skip


@pytest.fixture
def queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Queue]:
    monkeypatch.setattr("dibs.queues.lmdb.claimer.TEND_SECONDS", 1e9)  # not by chance in between
    monkeypatch.setattr("dibs.queues.lmdb.claimer.RESCUE_SECONDS", 1e9)
    with dibs.open(f"lmdb:{tmp_path}/queue?sync=off") as opened:
        opened.push_many(range(2))
        lease = opened.claim()
        assert lease is not None
        assert opened.complete_and_claim(lease) is not None  # now all is known that a process has to learn once
        yield opened
        check_whole(opened)


@pytest.fixture
def general(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One more for each that went the general way."""
    ways: list[int] = []
    claim_after = Claimer.claim_after

    def counted(claimer: Claimer, *args: Any) -> Any:
        ways.append(1)
        return claim_after(claimer, *args)

    monkeypatch.setattr(Claimer, "claim_after", counted)
    return ways


def test_plain_tasks_of_all_kinds_go_the_short_way(queue: Queue, general: list[int]) -> None:
    pushed = queue.push_many(NewTask(payload=n, **kind) for n, kind in enumerate(KINDS))
    lease = queue.claim(ttl=100)
    done = []
    while lease is not None:
        assert general == []
        assert (lease.epoch, round(lease.deadline - lease.since, 6)) == (1, 50.0 if lease.task.max_runtime else 100.0)
        (claim,) = [claim for claim in queue.claimed() if claim.id == lease.id]
        assert claim.worker == lease.worker
        check_whole(queue)
        done.append(lease)
        lease = queue.complete_and_claim(lease, ttl=100)
        assert queue.get(done[-1].id).state == "completed"
        assert [event.what for event in queue.detail(done[-1].id).history] == ["completed"]
    assert {one.id for one in done} == {task.id for task in pushed}
    assert done[0].task.priority == 60
    assert len(general) == 1, "the last, after which nothing is ready"


def test_one_that_came_back_goes_the_short_way_too(queue: Queue, general: list[int]) -> None:
    queue.push_many(range(2))
    first, second = queue.claim_many(2)
    second.release()
    again = queue.complete_and_claim(first)
    assert again is not None
    assert (again.id, again.epoch, general) == (second.id, 2, [])
    with pytest.raises(LeaseLost):
        second.complete()


def test_a_renewed_lease_is_completed(queue: Queue, general: list[int]) -> None:
    queue.push_many(range(2))
    lease = queue.claim()
    assert lease is not None
    lease.renew()
    following = queue.complete_and_claim(lease)
    assert following is not None
    assert (queue.get(lease.id).state, len(general)) == ("completed", 1)


def test_a_lease_that_was_lost_completes_and_claims_nothing(queue: Queue, general: list[int]) -> None:
    queue.push_many(range(3))
    one, two = queue.claim_many(2)
    queue.cancel(one.id)
    two.release()
    assert [other.id for other in queue.claim_many(1)] == [two.id]
    two.state = "held"
    for lease in (one, two):
        before = queue.stats().states
        with pytest.raises(LeaseLost):
            queue.complete_and_claim(lease)
        assert (queue.stats().states, lease.state) == (before, "lost")
    assert len(general) == 2


def test_what_waits_for_it_is_made_ready(queue: Queue, general: list[int]) -> None:
    first = queue.push("first")
    second = queue.push("second", after=[first.id])
    lease = queue.claim()
    assert lease is not None
    following = queue.complete_and_claim(lease)
    assert following is not None
    assert (following.id, len(general)) == (second.id, 1)


def test_a_pause_holds_and_a_result_is_kept(queue: Queue, general: list[int]) -> None:
    queue.push_many(range(3))
    lease = queue.claim()
    assert lease is not None
    following = queue.complete_and_claim(lease, {"r": 1})
    assert following is not None
    assert queue.detail(lease.id).result == {"r": 1}
    queue.pause("for now")
    assert queue.complete_and_claim(following) is None
    assert (queue.get(following.id).state, queue.stats().states["ready"]) == ("completed", 1)
    assert len(general) == 2


def test_only_what_is_wanted_is_claimed(queue: Queue) -> None:
    queue.push_many([NewTask(payload=1), NewTask(payload=2), NewTask(payload=3, project="p")])
    lease = queue.claim()
    assert lease is not None
    following = queue.complete_and_claim(lease, project="p")
    assert following is not None
    assert following.payload == 3
    assert queue.complete_and_claim(following, project="p") is None
    assert queue.stats().states["ready"] == 1
