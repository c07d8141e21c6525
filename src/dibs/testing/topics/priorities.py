"""Changing the priority of a task that waits."""

from typing import Any

import pytest

from dibs.errors import BadInput, LeaseLost, Refused, TaskNotFound
from dibs.queues.queue import Queue
from dibs.states import State
from dibs.testing.harness import Contract, needs


def shown(queue: Queue, task_id: str) -> set[int]:
    """The priorities that the queue shows of the task, in every way it has."""
    listed = [task.priority for task in queue.tasks() if task.id == task_id]
    assert len(listed) == 1, f"task {task_id} is there {len(listed)} times"
    return {queue.get(task_id).priority, queue.detail(task_id).task.priority, *listed}


class Priorities(Contract):
    def served(self, queue: Queue) -> list[str]:
        """The ids of what is ready, in the order of claiming."""
        return [lease.id for lease in iter(lambda: queue.claim(ttl=self.units(600)), None)]

    @needs("prioritises", "push")
    def test_a_task_goes_up_and_down_in_the_order(self, queue: Queue) -> None:
        first, second, third, fourth = (queue.push({"n": n}).id for n in range(4))
        assert queue.set_priority(third, "high").priority == 100
        assert queue.set_priority(first, 7).priority == 7
        assert queue.set_priority(fourth, "60").priority == 60
        assert {task.id: task.priority for task in queue.tasks()} == {first: 7, second: 50, third: 100, fourth: 60}
        other = self.open()
        assert shown(other, third) == {100}
        assert {level: counts["ready"] for level, counts in other.stats().priorities.items() if counts} == {
            7: 1, 50: 1, 60: 1, 100: 1,
        }  # fmt: skip
        assert self.served(other) == [third, fourth, second, first]

    @needs("prioritises", "push")
    def test_whoever_looks_already_sees_the_change(self, queue: Queue) -> None:
        worker = self.open()
        tasks = queue.push_many([{"n": n} for n in range(40)])
        first = self.take(worker).id
        last = next(task.id for task in reversed(tasks) if task.id != first)
        queue.set_priority(last, "critical")
        self.pass_a_moment()
        lease = self.take(worker)
        assert (lease.id, lease.task.priority) == (last, 200)
        assert worker.lease(lease.id, lease.epoch).task.priority == 200
        assert worker.get(last).priority == 200

    @needs("prioritises", "push")
    def test_the_same_again_changes_nothing(self, queue: Queue) -> None:
        task = queue.push({"n": 1}, priority="high")
        before, counts = queue.detail(task.id), queue.stats()
        assert queue.set_priority(task.id, 100) == queue.set_priority(task.id, "high") == before.task
        assert (queue.detail(task.id), queue.stats()) == (before, counts)

    @needs("prioritises", "push")
    def test_there_and_back_is_as_before(self, queue: Queue) -> None:
        task = queue.push({"n": 1})
        before, counts = queue.detail(task.id), self.counts(queue)
        for priority in (100, 0, 100, 50):
            queue.set_priority(task.id, priority)
        assert (queue.detail(task.id), self.counts(queue)) == (before, counts)
        lease = self.take(queue)
        assert (lease.id, lease.epoch, lease.payload) == (task.id, 1, task.payload)
        lease.complete()
        assert self.open().claim() is None

    @needs("prioritises", "push")
    @pytest.mark.parametrize("priority", [-1, 10_000, "urgent", 1.5, None, True, ""])
    def test_what_is_no_priority_is_refused(self, queue: Queue, priority: Any) -> None:
        task = queue.push({"n": 1})
        with pytest.raises(BadInput, match="priority"):
            queue.set_priority(task.id, priority)
        assert shown(queue, task.id) == {50}

    @needs("prioritises", "push", "keys")
    def test_a_task_is_named_by_its_key_too(self, queue: Queue) -> None:
        task = queue.push({"n": 1}, key="k")
        assert queue.set_priority("k", "low").id == task.id
        assert shown(queue, task.id) == {0}
        again = queue.push({"n": 2}, key="k")
        assert (again.id, again.duplicate, again.priority) == (task.id, True, 0)
        with pytest.raises(TaskNotFound):
            queue.set_priority("unknown", "low")

    @needs("prioritises", "push")
    def test_what_is_held_or_over_is_refused(self, queue: Queue) -> None:
        held, done, failed, cancelled = (queue.push({"n": n}, priority=n).id for n in (4, 3, 2, 1))
        lease = self.take(queue)
        self.take(queue).complete("kept")
        self.take(queue).fail("no", retry=False)
        queue.cancel(cancelled)
        other = self.open()
        for task_id, words in ((held, "claimed; release"), (done, "completed; push"), (failed, "failed; .*retry"),
                               (cancelled, "cancelled; .*retry")):  # fmt: skip
            before = queue.detail(task_id).task
            with pytest.raises(Refused, match=words):
                other.set_priority(task_id, "high")
            assert queue.detail(task_id).task == before
        with pytest.raises(Refused, match="claimed"):
            other.set_priority(held, 4)
        lease.renew()
        lease.complete()

    @needs("prioritises", "push", "scheduling")
    def test_a_scheduled_task_runs_at_its_new_priority(self, queue: Queue) -> None:
        first, second = (queue.push({"n": n}, delay=self.units(10)).id for n in range(2))
        due = queue.detail(second).due
        assert queue.set_priority(second, "high").state is State.SCHEDULED
        assert queue.detail(second).due == due
        assert shown(queue, second) == {100}
        assert queue.claim() is None
        self.wait_until_due(queue, second)
        self.pass_a_moment()
        assert self.served(self.open()) == [second, first]

    @needs("prioritises", "push", "dependencies", "keys")
    def test_a_blocked_task_runs_at_its_new_priority(self, queue: Queue) -> None:
        first = queue.push({"n": 1}, key="first", priority="critical")
        blocked = queue.push({"n": 2}, after=["first"]).id
        timed = queue.push({"n": 3}, after=["first"], at=queue.store_time() + self.units(20)).id
        ready = queue.push({"n": 4}).id
        for task_id in (blocked, timed):
            assert queue.set_priority(task_id, "high").state is State.BLOCKED
            assert shown(queue, task_id) == {100}
        lease = self.take(queue)
        assert lease.id == first.id
        lease.complete()
        assert self.state(queue, timed) is State.SCHEDULED
        self.pass_a_moment()
        assert self.served(queue) == [blocked, ready]
        self.wait_until_due(queue, timed)
        self.pass_a_moment()
        assert self.take(queue).task.priority == 100

    @needs("prioritises", "push", "facets")
    def test_project_and_labels_stay(self, queue: Queue) -> None:
        task = queue.push({"n": 1}, project="shop", labels=["eu", "big"])
        queue.push({"n": 2}, project="shop", labels=["eu", "big"])
        changed = queue.set_priority(task.id, 300)
        assert (changed.project, changed.labels) == ("shop", ("big", "eu"))
        other = self.open()
        stats = other.stats()
        assert (stats.projects["shop"]["ready"], stats.labels["eu"]["ready"]) == (2, 2)
        assert stats.priorities[300]["ready"] == stats.priorities[50]["ready"] == 1
        listed = other.tasks(project="shop", labels=["eu"])
        assert sorted(task.priority for task in listed) == [50, 300]
        assert other.claim(project="another") is None
        lease = self.take(other, project="shop", labels=["eu", "big"])
        assert (lease.id, lease.task.priority, lease.task.project) == (task.id, 300, "shop")
        lease.complete()
        assert self.open().stats().priorities[300]["completed"] == 1

    @needs("prioritises", "push", "facets")
    def test_a_ceiling_goes_by_the_new_priority(self, queue: Queue) -> None:
        worker = self.open()
        high, low = queue.push({"n": 1}, priority="high").id, queue.push({"n": 2}, priority="low").id
        queue.set_priority(low, 150)
        assert worker.claim(max_priority=60) is None
        queue.set_priority(high, "normal")
        lease = worker.claim(max_priority=60, ttl=self.units(60), wait=self.units(30))
        assert lease is not None
        assert (lease.id, lease.task.priority) == (high, 50)
        self.pass_a_moment()
        assert worker.claim(max_priority=60) is None

    @needs("prioritises", "push", "settings")
    def test_the_new_priority_stays_whatever_happens(self, queue: Queue) -> None:
        task = queue.push({"n": 1}, max_attempts=2, backoff=0.0, labels=["a"])
        queue.set_priority(task.id, 77)

        def again(worker: Queue) -> Any:
            self.wait_until_due(worker, task.id)
            lease = self.take(worker, ttl=self.units(5))
            assert (lease.id, lease.task.priority, shown(worker, task.id)) == (task.id, 77, {77})
            return lease

        again(queue).release()
        again(queue).release(delay=self.units(3))
        again(queue).fail("once")
        stale = again(queue)
        self.pass_time(6)
        other = self.open()
        taken = again(other)
        with pytest.raises(LeaseLost):
            stale.complete()
        taken.fail("twice")
        assert self.state(queue, task.id) is State.FAILED
        assert queue.retry(task.id).priority == 77
        queue.cancel(task.id)
        assert queue.retry(task.id).priority == 77
        again(queue).complete("done")
        assert shown(queue, task.id) == {77}

    @needs("prioritises", "push")
    def test_who_was_fenced_off_stays_fenced_off(self, queue: Queue) -> None:
        task = queue.push({"n": 1})
        stale = self.take(queue, ttl=self.units(5))
        self.pass_time(6)
        other = self.open()
        self.take(other).release()
        assert other.set_priority(task.id, "high").epoch == 2
        other.set_priority(task.id, "normal")
        for step in (stale.renew, stale.complete, stale.release):
            with pytest.raises(LeaseLost):
                step()
        lease = self.take(other)
        assert (lease.id, lease.epoch) == (task.id, 3)

    @needs("prioritises", "admits")
    def test_a_task_leaves_with_its_new_priority(self, queue: Queue) -> None:
        task = queue.push({"n": 1}, project="shop")
        queue.set_priority(task.id, 77)
        gate = queue.gate()
        (packed,) = gate.export(State.READY)
        (gone,) = gate.depart([packed], "file:/somewhere/else")
        (waiting,) = self.open().gate().departed("file:/somewhere/else")
        assert packed.task.priority == gone.task.priority == waiting.task.priority == 77
        gate.dismiss([waiting])
        gate.admit([waiting])
        assert shown(self.open(), task.id) == {77}
        queue.set_priority(task.id, 78)
        assert self.take(self.open(), project="shop").task.priority == 78

    @needs("prioritises", "push", "owned")
    def test_a_purged_task_is_gone_whole(self, queue: Queue) -> None:
        tasks = queue.push_many([{"n": n} for n in range(4)])
        for task in tasks:
            queue.set_priority(task.id, "high")
        while (lease := queue.claim(ttl=self.units(60))) is not None:
            lease.complete()
        self.pass_time(10)
        assert queue.purge(older_than=0) == 4
        other = self.open()
        assert other.claim() is None
        assert self.counts(other) == {}
        with pytest.raises(TaskNotFound):
            other.set_priority(tasks[0].id, 1)
