"""Tasks that leave whole and come in whole: the queue's gate."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from dibs.clock import SYSTEM
from dibs.errors import TaskNotFound, Unsupported
from dibs.queues.parcel import Outcome, Parcel
from dibs.queues.queue import Queue
from dibs.queues.views import Detail
from dibs.states import State
from dibs.testing.harness import Contract, needs
from dibs.values import replace

AWAY = "file:/somewhere/else"
GOING = (State.READY, State.SCHEDULED, State.BLOCKED, State.FAILED)


def packed(queue: Queue) -> list[Parcel]:
    return [parcel for state in GOING for parcel in queue.gate().export(state)]


class Moving(Contract):
    def send_off(self, queue: Queue) -> list[Parcel]:
        """Everything that can leave, out of the queue and deleted there."""
        gate = queue.gate()
        parcels = packed(queue)
        gone = gate.depart(parcels, AWAY)
        assert {parcel.id for parcel in gone} == {parcel.id for parcel in parcels}
        again = list(gate.departed(AWAY))
        gate.dismiss(gone)
        assert list(gate.departed()) == []
        return again

    def test_a_queue_that_has_no_gate_says_so(self, queue: Queue) -> None:
        if not self.capabilities.admits:
            with pytest.raises(Unsupported, match="use file:"):
                queue.gate()
        else:
            assert queue.gate().address == self.open().gate().address

    @needs("admits")
    def test_a_late_dismissal_deletes_no_later_departure(self, queue: Queue) -> None:
        gate = queue.gate()
        self.add(queue, {"n": 1})
        (first,) = gate.depart(packed(queue), AWAY)
        gate.dismiss([first])
        gate.admit([first])  # it went, and came back
        self.pass_time(1)
        (second,) = gate.depart(packed(queue), AWAY)
        gate.dismiss([first])
        assert [parcel.id for parcel in gate.departed(AWAY)] == [first.id]
        gate.dismiss([second])
        assert list(gate.departed()) == []

    @needs("admits")
    def test_a_task_that_departed_is_no_task_of_its_queue(self, queue: Queue) -> None:
        task = queue.push({"n": 1}, key="k", labels=["a"])
        (gone,) = queue.gate().depart(packed(queue), AWAY)
        other = self.open()
        assert (gone.to, gone.state, gone.task.key) == (AWAY, State.READY, "k")
        assert other.claim() is None
        assert self.counts(other) == {}
        assert list(other.tasks()) == []
        for step in (other.get, other.cancel, other.retry, other.detail):
            with pytest.raises(TaskNotFound, match="somewhere/else"):
                step(task.id)
        self.pass_time(10)
        for state in (State.CANCELLED, State.FAILED, State.COMPLETED):
            assert other.purge(state, older_than=0) == 0
        new = other.push({"n": 2}, key="k")
        assert (new.id != task.id, new.duplicate) == (True, False)
        (kept,) = other.gate().departed()
        assert (kept.task, kept.to) == (gone.task, AWAY)
        assert list(other.gate().departed("file:/not/there")) == []
        other.gate().dismiss([kept])
        assert list(queue.gate().departed()) == []
        assert self.take(other).id == new.id

    @needs("admits")
    def test_what_has_moved_on_does_not_depart(self, queue: Queue) -> None:
        queue.push(1)
        parcels = packed(queue)
        lease = self.take(queue)
        assert queue.gate().depart(parcels, AWAY) == []
        lease.complete()
        assert queue.gate().depart(parcels, AWAY) == []
        assert self.counts(queue) == {"completed": 1}

    @needs("admits", "settings", "scheduling", "dependencies")
    def test_what_comes_in_stands_as_it_stood(self, queue: Queue) -> None:
        ids = {
            "released": queue.push({"n": 1}, priority=70, labels=["x", "y"], project="p", max_runtime=50.0).id,
            "failed": queue.push({"n": 2}, priority=60, key="f", max_attempts=1).id,
            "retrying": queue.push({"n": 3}, priority=55, key="r", max_attempts=9, backoff=100.0, max_backoff=900.0).id,
            "untouched": queue.push({"n": 4, "large": "x" * 50_000}, key="u", unique="completed", max_deaths=9).id,
            "scheduled": queue.push({"n": 5}, delay=self.units(5000), priority="low").id,
        }
        ids["blocked"] = queue.push({"n": 6}, after=["u", ids["failed"]], key="b").id
        for _ in range(3):
            lease = self.take(queue)
            lease.release() if lease.id == ids["released"] else lease.fail(f"why {lease.payload['n']}")
            if lease.id == ids["released"]:
                queue.cancel(lease.id)  # else it would be the next again
        queue.retry(ids["released"])
        before = {name: _comparable(queue.detail(task_id)) for name, task_id in ids.items()}
        parcels = self.send_off(queue)
        assert self.counts(queue) == {}
        fresh = self.open()
        outcomes = fresh.gate().admit(parcels)
        assert outcomes == dict.fromkeys(ids.values(), Outcome.ADDED)
        assert fresh.gate().missing([*ids.values(), "0" * 32]) == {"0" * 32}
        after = {name: _comparable(fresh.detail(task_id)) for name, task_id in ids.items()}
        assert after == before
        assert {ref: fresh.get(ref).id for ref in "urb"} == {
            "u": ids["untouched"], "r": ids["retrying"], "b": ids["blocked"],
        }  # fmt: skip
        lease = self.take(fresh)
        assert (lease.id, lease.epoch) == (ids["released"], 2)
        assert fresh.retry("f").epoch == 1
        lease = self.take(fresh)
        assert (lease.id, lease.epoch) == (ids["failed"], 2)

    @needs("admits")
    def test_the_same_task_twice_is_one_task(self, queue: Queue) -> None:
        task = queue.push({"n": 1}, key="k")
        (parcel,) = self.send_off(queue)
        gate = queue.gate()
        assert gate.admit([parcel, parcel]) == {task.id: Outcome.ADDED}
        assert gate.admit([parcel]) == {task.id: Outcome.THERE}
        self.pass_a_moment()
        lease = self.take(queue)
        assert self.open().gate().admit([parcel]) == {task.id: Outcome.THERE}
        lease.complete("result")
        assert self.open().gate().admit([parcel]) == {task.id: Outcome.THERE}
        assert self.counts(queue) == {"completed": 1}
        assert queue.detail(task.id).result == "result"

    @needs("admits")
    def test_a_task_is_not_let_in_where_it_is_about_to_leave(self, queue: Queue) -> None:
        task = queue.push(1)
        (gone,) = queue.gate().depart(packed(queue), AWAY)
        assert task.id in queue.gate().objections([gone])
        assert queue.gate().admit([gone]) == {task.id: Outcome.LEAVING}
        assert queue.gate().missing([task.id]) == set()
        assert self.counts(queue) == {}

    @needs("admits", "keys")
    def test_a_key_that_is_taken_keeps_its_task(self, queue: Queue) -> None:
        first = queue.push("first", key="k")
        (parcel,) = self.send_off(queue)
        assert queue.gate().objections([parcel]) == {}
        second = queue.push("second", key="k")
        assert second.id in queue.gate().objections([parcel])[first.id]
        assert queue.gate().admit([parcel]) == {first.id: Outcome.DUPLICATE}
        kept = queue.detail(first.id)
        assert (kept.task.state, kept.task.payload, kept.task.key) == (State.FAILED, "first", "k")
        assert second.id in kept.error
        assert queue.get("k").id == second.id
        assert self.take(queue).id == second.id
        assert queue.claim() is None

    @needs("admits", "dependencies")
    def test_what_waits_finds_what_came_in(self, queue: Queue) -> None:
        done = queue.push("done", key="d")
        waits = queue.push("waits", after=["d"])
        (lease,) = queue.claim_many(5)
        (blocked,) = self.send_off(queue)
        lease.complete("kept")
        parcel = queue.gate().find("d")
        assert parcel is not None
        assert (parcel.id, parcel.state, parcel.history[-1].result) == (done.id, State.COMPLETED, "kept")
        self.pass_time(10)
        assert queue.purge(older_than=0) == 1
        assert queue.gate().admit([blocked]) == {waits.id: Outcome.ADDED}
        assert self.state(queue, waits.id) is State.BLOCKED
        assert queue.gate().admit([parcel]) == {done.id: Outcome.ADDED}
        detail = queue.detail("d")
        assert (detail.task.state, detail.result, detail.task.epoch) == (State.COMPLETED, "kept", 1)
        self.pass_time(10)
        assert self.take(self.open()).id == waits.id

    @needs("admits")
    def test_many_admitters_of_the_same_tasks(self, queue: Queue) -> None:
        ids = {queue.push({"n": n}, key=f"k{n}" if n % 3 == 0 else None).id for n in range(40)}
        parcels = self.send_off(queue)
        queues = [self.open(clock=SYSTEM) for _ in range(4)] if not self.real_time else [queue, self.open()] * 2
        start = threading.Barrier(len(queues))

        def admit(mine: Queue) -> dict[str, Outcome]:
            start.wait()
            outcomes: dict[str, Outcome] = {}
            for parcel in parcels:
                outcomes |= mine.gate().admit([parcel])
            return outcomes

        with ThreadPoolExecutor(len(queues)) as pool:
            results = list(pool.map(admit, queues))
        for task_id in ids:
            assert sorted(result[task_id] for result in results) == ["added", "there", "there", "there"]
        assert self.counts(queue) == {"ready": 40}
        assert {lease.id for lease in queue.claim_many(50, ttl=self.units(60))} == ids


def _comparable(detail: Detail) -> Detail:
    """Without what is of the place and not of the task."""
    return replace(detail, ended_at=None, due=None if detail.due is None else float(round(detail.due * 1000)))
