"""`after`: a task is ready when what it names is completed, and not before.

A failed, cancelled or unknown dependency keeps its dependants blocked, and `why` says so: whoever retries
or pushes it frees them.
"""

import pytest

from dibs.errors import BadInput
from dibs.queues.queue import Queue
from dibs.states import State
from dibs.task import NewTask, new_id
from dibs.testing.harness import Contract, needs

SOON = 10


class Dependencies(Contract):
    @needs("dependencies", "push")
    def test_a_task_waits_for_another(self, queue: Queue) -> None:
        first = queue.push("first")
        second = queue.push("second", after=[first.id])
        assert second.state is State.BLOCKED
        assert self.counts(queue) == {"ready": 1, "blocked": 1}
        lease = self.take(queue)
        assert lease.id == first.id
        assert queue.claim() is None
        assert first.id in queue.why(second.id).text
        lease.complete()
        assert self.state(self.open(), second.id) is State.READY
        assert self.take(self.open()).id == second.id

    @needs("dependencies", "push", "keys")
    def test_a_dependency_may_be_named_by_its_key(self, queue: Queue) -> None:
        queue.push("first", key="one")
        second = queue.push("second", after=["one"])
        self.take(queue).complete()
        assert self.take(queue).id == second.id

    @needs("dependencies", "push")
    def test_a_completed_dependency_holds_nothing_up(self, queue: Queue) -> None:
        first = queue.push("first")
        self.take(queue).complete()
        second = queue.push("second", after=[first.id])
        assert self.take(queue).id == second.id

    @needs("dependencies", "push")
    def test_a_chain_runs_in_order_and_a_diamond_waits_for_both(self, queue: Queue) -> None:
        top = queue.push("top")
        left = queue.push("left", after=[top.id])
        right = queue.push("right", after=[top.id])
        bottom = queue.push("bottom", after=[left.id, right.id])
        last = queue.push("last", after=[bottom.id])
        worker = self.open()
        order = []
        for _ in range(5):
            lease = self.take(worker)
            order.append(lease.id)
            lease.complete()
        assert order[0] == top.id
        assert set(order[1:3]) == {left.id, right.id}
        assert order[3:] == [bottom.id, last.id]

    @needs("dependencies", "push")
    def test_a_retried_dependency_still_holds_up(self, queue: Queue) -> None:
        first = queue.push("first")
        second = queue.push("second", after=[first.id])
        self.take(queue).fail("once")
        self.pass_time(SOON)
        lease = self.take(queue)
        assert lease.id == first.id
        lease.complete()
        assert self.take(queue).id == second.id

    @needs("dependencies", "push")
    @pytest.mark.parametrize("how", ["failed", "cancelled"])
    def test_a_failed_or_cancelled_dependency_blocks_until_it_is_retried(self, queue: Queue, how: str) -> None:
        first = queue.push("first")
        second = queue.push("second", after=[first.id])
        if how == "failed":
            self.take(queue).fail("broken", retry=False)
        else:
            queue.cancel(first.id)
        self.pass_time(SOON)
        assert queue.claim() is None
        assert self.state(queue, second.id) is State.BLOCKED
        why = queue.why(second.id)
        assert first.id in why.text
        assert how in why.text
        assert queue.detail(second.id).waits_for == ((first.id, how),)
        queue.retry(first.id)
        self.take(queue).complete()
        self.pass_time(SOON)
        assert self.take(queue).id == second.id

    @needs("dependencies", "push", "keys")
    def test_an_unknown_dependency_blocks_until_it_is_pushed_and_completed(self, queue: Queue) -> None:
        second = queue.push("second", after=["not yet"])
        assert queue.claim() is None
        assert "not in the queue" in queue.why(second.id).text
        assert queue.detail(second.id).waits_for == (("not yet", "unknown"),)
        queue.push("first", key="not yet")
        self.take(queue).complete()
        self.pass_time(SOON)
        assert self.take(self.open()).id == second.id

    @needs("dependencies", "push")
    def test_an_unknown_id_blocks(self, queue: Queue) -> None:
        queue.push("never", after=[new_id(self.clock)])
        self.pass_time(SOON)
        assert queue.claim() is None
        assert self.counts(queue) == {"blocked": 1}

    @needs("dependencies", "push", "scheduling")
    def test_a_task_may_wait_for_a_time_and_for_others(self, queue: Queue) -> None:
        first = queue.push("first")
        second = queue.push("second", after=[first.id], delay=self.units(30))
        self.take(queue).complete()
        self.pass_time(SOON)
        assert queue.claim() is None
        assert self.state(queue, second.id) is State.SCHEDULED
        self.pass_time(25)
        assert self.take(queue).id == second.id

    @needs("dependencies", "push")
    def test_a_blocked_task_can_be_cancelled(self, queue: Queue) -> None:
        first = queue.push("first")
        second = queue.push("second", after=[first.id])
        queue.cancel(second.id)
        self.take(queue).complete()
        self.pass_time(SOON)
        assert queue.claim() is None
        assert self.state(queue, second.id) is State.CANCELLED

    @needs("dependencies", "push", "owned")
    def test_a_purged_dependency_has_freed_its_dependants_before(self, queue: Queue) -> None:
        first = queue.push("first")
        second = queue.push("second", after=[first.id])
        self.take(queue).complete()
        self.pass_time(1)
        assert queue.purge("completed", older_than=0) == 1
        assert self.take(queue).id == second.id

    @needs("dependencies", "push", "keys")
    def test_a_batch_may_name_its_own_keys(self, queue: Queue) -> None:
        queue.push_many([NewTask(payload=1, key="a"), NewTask(payload=2, key="b", after=["a"])])
        assert self.counts(queue) == {"ready": 1, "blocked": 1}
        self.take(queue).complete()
        self.pass_time(SOON)
        assert self.take(queue).task.key == "b"

    @needs("dependencies", "push", "keys")
    @pytest.mark.parametrize("after", [["k"], "k", [""], [5], ["x" * 1025]], ids=ascii)
    def test_what_is_no_dependency_is_refused(self, queue: Queue, after: object) -> None:
        with pytest.raises(BadInput):
            queue.push(1, key="k", after=after)  # type: ignore[arg-type]
        assert self.counts(queue) == {}
        assert not queue.push(2, key="k").duplicate
