"""Keys that are taken, tasks that others wait for, tasks that are held, moves that were broken off."""

from pathlib import Path

import pytest

from dibs.moving import move
from dibs.queues.parcel import Outcome
from dibs.queues.queue import Queue
from dibs.states import State

from .places import GOING, fill, look, open_place

KINDS = [("file", "memory"), ("memory", "file"), ("stored", "stored")]


@pytest.fixture(params=KINDS, ids="-".join)
def queues(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Queue, Queue]:
    one, other = request.param
    return open_place(one, f"{tmp_path}/a"), open_place(other, f"{tmp_path}/b")


def test_a_key_that_is_taken_there_keeps_its_task_here(queues: tuple[Queue, Queue]) -> None:
    source, target = queues
    mine = source.push("mine", key="k")
    waits = source.push("waits", after=["k"])
    other = source.push("other")
    theirs = target.push("theirs", key="k")
    dry = move(source, target, dry_run=True)
    report = move(source, target)
    for told in (dry, report):
        assert (told.sent, told.refused, told.held_back) == ({"ready": 1}, 1, 1)
        assert (told.refusals[0].id, told.refusals[0].key) == (mine.id, "k")
        assert theirs.id in told.refusals[0].reason
    assert report.verified
    assert report.left == {"ready": 1, "blocked": 1}
    assert (source.get("k").id, source.get("k").state) == (mine.id, State.READY)
    assert source.get(waits.id).state is State.BLOCKED
    assert target.get(other.id).state is State.READY
    for lease in target.claims():
        lease.complete()
    assert move(source, target).sent == {"ready": 1, "blocked": 1}


def test_a_key_that_is_taken_on_the_way_loses_no_task(queues: tuple[Queue, Queue]) -> None:
    source, target = queues
    mine = source.push("mine", key="k")
    source.gate().depart(list(source.gate().export(State.READY)), target.address)
    theirs = target.push("theirs", key="k")
    report = move(source, target)
    assert (report.total, report.refused, report.verified) == (1, 1, True)
    kept = target.detail(mine.id)
    assert (kept.task.state, kept.task.payload) == (State.FAILED, "mine")
    assert theirs.id in kept.error
    assert target.get("k").id == theirs.id
    lease = target.claim()
    assert lease is not None
    lease.complete()
    assert target.retry(mine.id).state is State.READY
    assert target.get("k").id == mine.id


def test_claimed_tasks_and_who_waits_for_them_stay(queues: tuple[Queue, Queue]) -> None:
    source, target = queues
    source.push("held", key="held")
    lease = source.claim()
    assert lease is not None
    waits, chained = source.push("waits", key="w", after=["held"]), source.push("chained", after=["w"])
    source.push("free")
    report = move(source, target)
    assert (report.sent, report.held_back, report.left) == ({"ready": 1}, 2, {"blocked": 2, "claimed": 1})
    lease.complete("kept")
    report = move(source, target)
    assert (report.sent, report.held_back, report.left) == ({"ready": 1, "blocked": 1}, 0, {})
    assert target.get(waits.id).state is State.READY
    assert target.get(chained.id).state is State.BLOCKED


def test_a_cancelled_task_goes_with_who_waits_for_it(queues: tuple[Queue, Queue]) -> None:
    source, target = queues
    gone = source.push("gone", key="gone")
    waits = source.push("waits", after=["gone"])
    other = source.push("other")
    source.cancel("gone")
    source.cancel(other.id)
    report = move(source, target)
    assert (report.sent, report.verified) == ({"cancelled": 1, "blocked": 1}, True)
    assert source.get(other.id).state is State.CANCELLED
    assert source.gate().find(gone.id) is None
    assert target.retry("gone").state is State.READY
    lease = target.claim()
    assert lease is not None
    lease.complete()
    assert target.get(waits.id).state is State.READY


def test_tasks_that_wait_for_each_other_go_together(queues: tuple[Queue, Queue]) -> None:
    source, target = queues
    source.push("a", key="a", after=["b"])
    source.push("b", key="b", after=["a"])
    assert move(source, target).sent == {"blocked": 2}


def test_to_follow_is_to_wait_for_what_is_held(queues: tuple[Queue, Queue]) -> None:
    source, target = queues
    for number in range(3):
        source.push(number, key=f"k{number}", max_attempts=1, priority="low" if number == 2 else "high")
    held = {lease.task.payload: lease for lease in source.claim_many(2, ttl=600)}
    silent = source.claim(ttl=0.4)
    assert silent is not None and silent.payload == 2
    source.push("waits", key="waits", after=["k0"])
    held[0].complete()
    held[1].fail("no")
    report = move(source, target, follow=True)  # the third lease is never renewed: its time has to be over
    assert report.left == {}
    assert report.verified
    assert target.get("k1").state is State.FAILED
    assert (target.get("k2").state, target.get("k2").deaths) == (State.READY, 1)
    assert target.get("waits").state is State.READY
    assert source.get("k0").state is State.COMPLETED


def test_a_dry_run_counts_what_a_move_does(queues: tuple[Queue, Queue]) -> None:
    source, target = queues
    fill(source)
    before = look(source)
    dry = move(source, target, dry_run=True)
    assert (look(source), look(target)) == (before, {})
    real = move(source, target)
    assert (dry.sent, dry.there, dry.refused) == (real.sent, real.there, real.refused)


def test_what_is_on_its_way_is_gone_on_with(queues: tuple[Queue, Queue]) -> None:
    """Broken off before the target had it, and after."""
    source, target = queues
    fill(source)
    before = look(source)
    parcels = [parcel for state in GOING for parcel in source.gate().export(state)]
    gone = source.gate().depart(parcels, target.address)
    assert set(target.gate().admit(gone[:4]).values()) == {Outcome.ADDED}
    assert move(source, target, dry_run=True).total == 9
    report = move(source, target)
    assert (report.total, report.there, report.verified, report.on_the_way) == (9, 4, True, 0)
    assert look(target) == before


def test_what_is_on_its_way_elsewhere_is_left_alone_and_told(queues: tuple[Queue, Queue]) -> None:
    source, target = queues
    source.push(1)
    source.gate().depart(list(source.gate().export(State.READY)), "file:/another")
    source.push(2)
    report = move(source, target)
    assert (report.sent, report.verified, report.elsewhere) == ({"ready": 1}, True, {"file:/another": 1})


def test_a_move_back_first_finishes_the_move_there(queues: tuple[Queue, Queue]) -> None:
    source, target = queues
    fill(source)
    before = look(source)
    parcels = [parcel for state in GOING for parcel in source.gate().export(state)]
    gone = source.gate().depart(parcels, target.address)
    target.gate().admit(gone[:5])
    back = move(target, source)
    assert (back.returned, back.total, back.verified) == (9, 9, True)
    assert look(source) == before
    assert list(source.gate().departed()) == list(target.gate().departed()) == []
