"""What goes up, what comes down, and what becomes of what two sites did while apart."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs.errors import BadInput, LeaseLost, Refused, Unsupported
from dibs.queues.queue import Queue
from dibs.states import State
from dibs.syncing import sync
from dibs.task import NewTask
from dibs.testing import ManualClock
from syncing.site import Site, opened

HOLD = 600.0
MakeSite = Callable[..., Site]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=["memory", "file"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"memory:{tmp_path}" if request.param == "memory" else f"file:{tmp_path}/shared?sync=off"


@pytest.fixture
def remote(shared: str, clock: ManualClock) -> Queue:
    return opened(shared, clock)


@pytest.fixture
def site(shared: str, clock: ManualClock, tmp_path: Path) -> MakeSite:
    def make(name: str = "here", **settings: Any) -> Site:
        return Site(tmp_path / name, shared, clock, hold=HOLD, **settings)

    return make


def test_what_was_pushed_offline_goes_up_whole(site: MakeSite, remote: Queue) -> None:
    here = site(batch=0)
    first = here.queue.push({"n": 1}, key="first", priority="high", labels=["a"])
    here.queue.push({"n": 2}, after=["first"])
    here.queue.push({"n": 3}, at=4e9)  # ahead on the clock of either
    report = here.sync()
    assert (report.sent, report.brought, report.reserved) == (3, 0, 0)
    assert list(here.queue.tasks()) == []
    assert remote.get("first").priority == first.priority
    counts = remote.stats().states
    assert (counts["ready"], counts["blocked"], counts["scheduled"]) == (1, 1, 1)
    assert not here.sync().changed


def test_a_batch_comes_down_and_its_completions_go_up(site: MakeSite, remote: Queue) -> None:
    pushed = remote.push_many(NewTask(payload={"n": n}, key=f"k{n}") for n in range(10))
    here = site(batch=4)
    report = here.sync()
    assert (report.brought, report.reserved) == (4, 4)
    assert {remote.get(task_id).state for task_id in here.ids(State.READY)} == {State.CLAIMED}
    done = here.work()
    assert len(done) == 4
    report = here.sync()
    assert (report.completed, report.brought, report.reserved) == (4, 4, 4)
    assert {task.id for task in remote.tasks(State.COMPLETED)} == set(done)
    assert remote.detail(done[0]).result == f"by {here.queue.address}"
    for _ in range(3):
        here.work()
        here.sync()
    assert {task.id for task in remote.tasks(State.COMPLETED)} == {task.id for task in pushed}
    assert here.sync().reserved == 0


def test_two_sites_share_no_task(site: MakeSite, remote: Queue) -> None:
    pushed = {task.id for task in remote.push_many(range(20))}
    here, there = site("here", batch=8), site("there", batch=8)
    for one in (here, there):
        one.sync()
    assert here.ids(State.READY).isdisjoint(there.ids(State.READY))
    done: list[str] = []
    for _ in range(3):
        for one in (here, there):
            done += one.work()
            assert one.sync().conflicts == []
    assert sorted(done) == sorted(pushed)
    assert {task.id for task in remote.tasks(State.COMPLETED)} == pushed


def test_a_reservation_is_renewed_while_online(site: MakeSite, remote: Queue, clock: ManualClock) -> None:
    remote.push("x")
    here, there = site("here"), site("there")
    here.sync()
    for _ in range(5):
        clock.advance(HOLD * 0.9)
        assert here.sync().renewed == 1
        assert there.sync().brought == 0
    clock.advance(1)
    assert here.sync().renewed == 0  # not long ago
    here.work()
    assert here.sync().completed == 1


def test_what_two_sites_both_did_is_settled_by_epoch_and_reported(
    site: MakeSite, remote: Queue, clock: ManualClock, tmp_path: Path
) -> None:
    task = remote.push("x", key="the-key")
    here, there = site("here"), site("there")
    here.sync()
    there.sync()  # sees that it is held
    clock.advance(HOLD * 1.2)
    assert there.sync().brought == 1
    assert here.work() == there.work() == [task.id]
    assert there.sync().completed == 1
    report = here.sync()
    (conflict,) = report.conflicts
    assert (conflict.id, conflict.key, conflict.epoch, conflict.there, conflict.there_epoch) == (
        task.id, "the-key", 1, "completed", 2,
    )  # fmt: skip
    assert "the-key" in conflict.words
    assert conflict.by in conflict.words
    assert report.completed == 0
    assert remote.detail(task.id).result == f"by {there.queue.address}"
    kept = [json.loads(line) for file in tmp_path.glob("here/sync/*/conflicts.jsonl") for line in file.open()]
    assert [(line["id"], line["result"]) for line in kept] == [(task.id, f"by {here.queue.address}")]
    assert not here.sync().changed  # said once


def test_what_was_lost_while_away_leaves_and_its_worker_is_refused(
    site: MakeSite, remote: Queue, clock: ManualClock
) -> None:
    remote.push_many(range(2))
    here, there = site("here", batch=2), site("there", batch=2)
    here.sync()
    lease = here.take()
    there.sync()
    clock.advance(HOLD * 1.2)
    assert there.sync().brought == 2
    report = here.sync()
    assert (report.withdrawn, report.reserved, report.conflicts) == (2, 0, [])
    assert list(here.queue.tasks()) == []
    with pytest.raises(LeaseLost):
        lease.complete()
    there.work()
    assert there.sync().completed == 2


def test_a_late_completion_that_nobody_crossed_still_counts(site: MakeSite, remote: Queue, clock: ManualClock) -> None:
    task = remote.push("x")
    here = site()
    here.sync()
    here.work()
    clock.advance(HOLD * 50)
    report = here.sync()
    assert (report.completed, report.conflicts) == (1, [])
    assert remote.get(task.id).state is State.COMPLETED


def test_one_that_is_away_too_long_may_win_its_tasks_back(site: MakeSite, remote: Queue, clock: ManualClock) -> None:
    task = remote.push("x")
    here = site()
    here.sync()
    clock.advance(HOLD * 2)
    report = here.sync()  # over a store its time is over, so it gives the task back, and takes it again
    assert (report.reserved, report.withdrawn) == (1, 0)
    assert remote.get(task.id).state is State.CLAIMED
    assert here.work() == [task.id]
    assert here.sync().completed == 1


def test_a_failure_goes_up_and_can_be_retried_there(site: MakeSite, remote: Queue) -> None:
    task = remote.push("x", max_attempts=1)
    here = site()
    here.sync()
    here.take().fail("no such page")
    assert here.sync().failed == 1
    detail = remote.detail(task.id)
    assert (detail.task.state, detail.error) == (State.FAILED, "no such page")
    assert list(here.queue.tasks()) == []
    remote.retry(task.id)
    assert here.sync().brought == 1
    here.work()
    assert here.sync().completed == 1


def test_what_is_cancelled_on_either_side_is_cancelled(site: MakeSite, remote: Queue, clock: ManualClock) -> None:
    first, second = remote.push("a"), remote.push("b")
    here = site()
    here.sync()
    here.queue.cancel(first.id)
    remote.cancel(second.id)
    assert here.sync().cancelled == 1
    assert remote.get(first.id).state is State.CANCELLED
    clock.advance(HOLD / 2)
    assert here.sync().withdrawn == 1
    assert list(here.queue.tasks()) == []


def test_what_was_pushed_and_done_here_is_told_there_once(site: MakeSite, remote: Queue) -> None:
    here = site()
    task = here.queue.push("x", key="k", unique="completed")
    here.work()
    assert here.sync().done_here == 1
    assert remote.detail(task.id).result == f"by {here.queue.address}"
    assert remote.push("again", key="k", unique="completed").id == task.id
    assert not here.sync().changed


def test_a_site_can_give_back_what_nobody_works_on(site: MakeSite, remote: Queue) -> None:
    remote.push_many(range(3))
    here = site()
    here.sync()
    lease = here.take()
    report = here.sync(give_back=True)
    assert (report.given_back, report.reserved) == (2, 1)
    assert remote.stats().states["ready"] == 2
    lease.complete()
    assert here.sync(give_back=True).completed == 1


def test_a_key_that_is_taken_on_the_other_side_is_reported_and_loses_nothing(
    site: MakeSite, remote: Queue, clock: ManualClock
) -> None:
    theirs = remote.push("there", key="k")
    here = site()
    ours = here.queue.push("here", key="k")
    report = here.sync()
    assert {refusal.id for refusal in report.refusals} == {ours.id, theirs.id}
    assert here.queue.get("k").id == ours.id
    assert remote.get("k").id == theirs.id
    here.queue.cancel(ours.id)
    clock.advance(120)  # it was put off, so as not to be brought down and refused again and again
    assert here.sync().brought == 1
    assert here.work() == [theirs.id]
    assert here.sync().completed == 1


def test_filters_choose_what_comes_down(site: MakeSite, remote: Queue) -> None:
    remote.push("a", labels=["gpu"])
    wanted = remote.push("b", labels=["small"])
    here = site(filters={"labels": ("small",)})
    here.sync()
    assert here.ids(State.READY) == {wanted.id}


def test_one_queue_may_be_joined_with_two(site: MakeSite, remote: Queue, tmp_path: Path, clock: ManualClock) -> None:
    other_url = f"file:{tmp_path}/other?sync=off"
    other = dibs.open(other_url, clock=clock)
    first, second = remote.push("a"), other.push("b")
    here = site()
    for _ in range(2):
        here.sync()
        sync(here.queue, other_url, clock=clock)
    assert here.ids(State.READY) == {first.id, second.id}
    here.work()
    assert here.sync().completed == 1
    assert sync(here.queue, other_url, clock=clock).completed == 1
    assert [queue.stats().states["completed"] for queue in (remote, other)] == [1, 1]


def test_only_one_syncer_at_a_time(site: MakeSite) -> None:
    here = site()
    with here.syncer(), pytest.raises(Refused, match="another `dibs sync`"):
        here.sync()
    here.sync()


def test_what_cannot_be_joined_is_refused(site: MakeSite, clock: ManualClock, tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="only a file: queue"):
        sync(dibs.open("memory:", clock=clock), "memory:x", clock=clock)
    here = site()
    with pytest.raises(BadInput, match="same queue"):
        sync(here.queue, f"file:{tmp_path}/here?sync=off", clock=clock)
    with pytest.raises(BadInput, match="hold"):
        here.sync(hold=1.0)
