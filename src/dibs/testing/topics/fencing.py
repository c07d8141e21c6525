"""Fencing: from the moment a later epoch exists, or a task is over, an earlier holder changes nothing."""

from collections.abc import Callable

import pytest

from dibs.errors import LeaseLost
from dibs.queues.held import Lease
from dibs.queues.queue import Queue
from dibs.testing.harness import Contract, needs

VERBS: dict[str, Callable[[Lease], None]] = {
    "renew": lambda lease: lease.renew(),
    "complete": lambda lease: lease.complete("stale"),
    "release": lambda lease: lease.release(),
    "release later": lambda lease: lease.release(5.0),
    "fail": lambda lease: lease.fail("stale"),
    "fail for good": lambda lease: lease.fail("stale", retry=False),
}
SINCE = ["held", "completed", "failed", "released", "cancelled", "cancelled and retried", "dead-lettered"]


class Fencing(Contract):
    def _overtake(self, queue: Queue, task_id: str, how: str) -> None:
        if how.startswith("cancelled"):
            queue.cancel(task_id)
            if how == "cancelled and retried":
                queue.retry(task_id)
            return
        self.pass_time(21)
        lease = self.take(queue)
        if how == "completed":
            lease.complete("fresh")
        elif how == "failed":
            lease.fail("fresh")
        elif how == "released":
            lease.release()
        elif how == "dead-lettered":
            lease.fail("fresh", retry=False)

    @pytest.mark.parametrize("since", SINCE)
    @pytest.mark.parametrize("verb", VERBS)
    def test_a_stale_holder_is_refused_and_changes_nothing(self, queue: Queue, verb: str, since: str) -> None:
        task = self.add(queue)
        stale = self.take(queue, ttl=self.units(20))
        other = self.open()
        self._overtake(other, task.id, since)
        before = other.detail(task.id)
        with pytest.raises(LeaseLost) as refusal:
            VERBS[verb](stale)
        assert task.id in str(refusal.value)
        assert "\n" not in str(refusal.value)
        after = self.open().detail(task.id)
        assert after.task == before.task
        assert after.result == before.result
        assert after.error == before.error
        assert after.history == before.history
        assert not stale.held

    @pytest.mark.parametrize("verb", VERBS)
    def test_a_lease_that_was_finished_cannot_be_used_again(self, queue: Queue, verb: str) -> None:
        task = self.add(queue)
        lease = self.take(queue)
        lease.complete("once")
        with pytest.raises(LeaseLost, match=task.id):
            VERBS[verb](lease)
        assert queue.detail(task.id).result == "once"
        assert self.counts(queue) == {"completed": 1}

    @pytest.mark.parametrize("verb", VERBS)
    def test_a_holder_that_is_late_but_alone_is_refused_or_counts(self, queue: Queue, verb: str) -> None:
        """Its own deadline is over but nobody took the task: no renewal; an end counts once, or not at all."""
        task = self.add(queue)
        lease = self.take(queue, ttl=self.units(20))
        self.pass_time(21)
        try:
            VERBS[verb](lease)
            assert verb != "renew"
        except LeaseLost:
            pass
        again = self.open().get(task.id)
        assert again.attempts + again.deaths <= 1
        assert again.epoch == 1

    def test_the_refusal_says_who_holds_the_task_now(self, queue: Queue) -> None:
        task = self.add(queue)
        stale = self.take(queue, ttl=self.units(20))
        self.pass_time(21)
        holder = self.take(self.open())
        with pytest.raises(LeaseLost) as refusal:
            stale.complete()
        message = str(refusal.value)
        assert task.id in message
        assert holder.worker in message
        assert "epoch 2" in message

    def test_the_completion_names_its_epoch(self, queue: Queue) -> None:
        task = self.add(queue)
        self.take(queue, ttl=self.units(20))
        self.pass_time(21)
        self.take(queue).complete("second")
        detail = queue.detail(task.id)
        assert (detail.task.epoch, detail.result) == (2, "second")
        assert "epoch 2" in queue.why(task.id).text

    @needs("owned", "push")
    def test_a_purged_task_is_lost_to_its_stale_holder(self, queue: Queue) -> None:
        task = queue.push(1)
        stale = self.take(queue, ttl=self.units(20))
        other = self.open()
        self.pass_time(21)
        self.take(other).complete()
        self.pass_time(1)
        assert other.purge("completed", older_than=0) == 1
        for step in VERBS.values():
            with pytest.raises(LeaseLost, match=task.id):
                step(stale)
        assert self.counts(other) == {}
