"""Cancel, retry, pause, resume, purge."""

import pytest

from dibs.errors import LeaseLost, Refused, TaskNotFound
from dibs.queues.queue import Queue
from dibs.states import State
from dibs.testing.harness import Contract, needs


class Steering(Contract):
    def test_a_cancelled_task_does_not_run(self, queue: Queue) -> None:
        task = self.add(queue)
        cancelled = queue.cancel(task.id)
        assert (cancelled.id, cancelled.state) == (task.id, State.CANCELLED)
        assert self.open().claim() is None
        assert "cancelled" in queue.why(task.id).text

    def test_cancelling_a_held_task_fences_its_holder_off(self, queue: Queue) -> None:
        task = self.add(queue)
        lease = self.take(queue)
        self.open().cancel(task.id)
        with pytest.raises(LeaseLost, match="cancelled"):
            lease.renew()
        assert self.state(queue, task.id) is State.CANCELLED
        assert queue.get(task.id).epoch == 2

    def test_what_is_over_cannot_be_cancelled(self, queue: Queue) -> None:
        done, failed, cancelled = (self.add(queue, {"n": n}).id for n in range(3))
        for _ in range(3):
            lease = self.take(queue)
            if lease.id == done:
                lease.complete("kept")
            elif lease.id == failed:
                lease.fail("no", retry=False)
            else:
                queue.cancel(cancelled)
        for over in (done, failed, cancelled):
            before = queue.detail(over)
            with pytest.raises(Refused, match="cancel"):
                queue.cancel(over)
            assert queue.detail(over) == before

    def test_only_what_failed_or_was_cancelled_can_be_retried(self, queue: Queue) -> None:
        task = self.add(queue)
        with pytest.raises(Refused, match="ready"):
            queue.retry(task.id)
        lease = self.take(queue)
        with pytest.raises(Refused, match="claimed"):
            queue.retry(task.id)
        lease.complete()
        with pytest.raises(Refused, match="completed"):
            queue.retry(task.id)
        assert self.counts(queue) == {"completed": 1}

    def test_a_paused_queue_gives_nothing_away(self, queue: Queue) -> None:
        held, waiting = self.add(queue, 1), self.add(queue, 2)
        lease = self.take(queue)
        other = self.open()
        assert other.paused is None
        other.pause("disk is full")
        assert queue.paused == "disk is full"
        self.pass_a_moment()
        assert queue.claim() is None
        assert self.open().claim_many(5) == []
        assert "paused" in queue.why(waiting.id if lease.id == held.id else held.id).text
        assert queue.stats().paused == "disk is full"
        lease.renew()
        lease.complete()
        self.add(queue, 3)
        queue.resume()
        assert other.paused is None
        self.pass_a_moment()
        assert len(other.claim_many(5)) == 2

    def test_pausing_and_resuming_may_be_repeated(self, queue: Queue) -> None:
        queue.resume()
        queue.pause()
        queue.pause("again")
        assert queue.paused == "again"
        queue.resume()
        queue.resume()
        assert queue.paused is None
        queue.pause()
        assert queue.paused == ""

    @needs("owned")
    def test_a_purge_removes_what_ended_long_enough_ago(self, queue: Queue) -> None:
        old = self.add(queue, "old")
        self.take(queue).complete("result")
        self.pass_time(100)
        young = self.add(queue, "young")
        self.take(queue).complete()
        ready = self.add(queue, "ready")
        self.pass_time(10)
        assert queue.purge(older_than=self.units(50)) == 1
        with pytest.raises(TaskNotFound):
            queue.get(old.id)
        assert queue.purge(older_than=self.units(50)) == 0
        assert self.state(queue, young.id) is State.COMPLETED
        assert self.state(queue, ready.id) is State.READY

    @needs("owned")
    def test_a_purge_keeps_to_its_state(self, queue: Queue) -> None:
        for n in range(3):
            self.add(queue, {"n": n})
        self.take(queue).complete()
        self.take(queue).fail("no", retry=False)
        queue.cancel(self.take(queue).id)
        self.pass_time(1)
        for state in (State.FAILED, "cancelled", State.COMPLETED):
            assert queue.purge(state, older_than=0) == 1
        assert self.counts(queue) == {}

    @pytest.mark.parametrize("state", ["ready", "claimed", "scheduled", "blocked", "lost", ""])
    def test_live_tasks_are_never_purged(self, queue: Queue, state: str) -> None:
        self.add(queue)
        with pytest.raises(Refused, match="purge"):
            queue.purge(state, older_than=0)
        assert self.counts(queue) == {"ready": 1}

    @needs("push")
    def test_a_failed_task_stays_until_it_is_purged(self, queue: Queue) -> None:
        task = queue.push(1)
        self.take(queue).fail("no", retry=False)
        self.pass_time(3600)
        queue.claim()
        assert self.state(self.open(), task.id) is State.FAILED
