"""Delays, times, and the wait before a retry. All measured on the store's clock."""

import pytest

from dibs.queues.queue import Queue
from dibs.states import State
from dibs.testing.harness import Contract, needs


class Scheduling(Contract):
    @needs("scheduling", "push")
    def test_a_delayed_task_waits(self, queue: Queue) -> None:
        task = queue.push("later", delay=self.units(20))
        assert task.state is State.SCHEDULED
        assert self.counts(queue) == {"scheduled": 1}
        self.pass_time(18)
        assert queue.claim() is None
        self.pass_time(3)
        assert self.take(queue).id == task.id

    @needs("scheduling", "push")
    def test_a_time_may_be_given(self, queue: Queue) -> None:
        now = queue.store_time()
        later = queue.push("later", at=now + self.units(20))
        past = queue.push("past", at=now - 1000)
        assert (later.state, past.state) == (State.SCHEDULED, State.READY)
        assert self.take(queue).id == past.id
        assert queue.claim() is None
        self.pass_time(21)
        assert self.take(self.open()).id == later.id

    @needs("scheduling", "push")
    def test_what_is_due_first_is_ready_first(self, queue: Queue) -> None:
        ids = [queue.push(n, delay=self.units(10 * (5 - n))).id for n in range(5)]
        served = []
        for _ in ids:
            self.pass_time(10.5)
            served.append(self.take(queue).id)
        assert served == ids[::-1]

    @needs("scheduling", "push")
    def test_a_delay_of_days_is_kept(self, queue: Queue) -> None:
        queue.push("in a month", delay=30 * 86400.0)
        self.pass_time(20)
        assert queue.claim() is None
        assert self.counts(queue) == {"scheduled": 1}

    @needs("scheduling", "push")
    def test_why_says_when_it_will_be_ready(self, queue: Queue) -> None:
        now = queue.store_time()
        task = queue.push("later", delay=self.units(20))
        why = queue.why(task.id)
        assert why.state == "scheduled"
        assert why.ready_at == pytest.approx(now + self.units(20), abs=1.0)
        assert queue.detail(task.id).due == pytest.approx(why.ready_at)
        self.pass_time(21)
        assert "the next" in queue.why(task.id).text, "that it waits for nothing but a worker"

    @needs("scheduling", "push")
    def test_a_scheduled_task_can_be_cancelled(self, queue: Queue) -> None:
        task = queue.push("later", delay=self.units(5))
        queue.cancel(task.id)
        self.pass_time(6)
        assert queue.claim() is None
        assert self.state(queue, task.id) is State.CANCELLED

    def test_a_release_may_be_delayed(self, queue: Queue) -> None:
        task = self.add(queue)
        self.take(queue).release(self.units(20))
        assert self.counts(queue) == {"scheduled": 1}
        self.pass_time(18)
        assert self.open().claim() is None
        self.pass_time(3)
        lease = self.take(queue)
        assert (lease.id, lease.epoch, lease.task.attempts) == (task.id, 2, 0)

    @needs("settings", "push")
    def test_retries_wait_longer_each_time_up_to_a_limit(self, queue: Queue) -> None:
        task = queue.push(1, max_attempts=9, backoff=self.units(10), max_backoff=self.units(50))
        for full in (10, 20, 40, 50, 50):
            self.take(queue).fail("no")
            due = queue.detail(task.id).due
            assert due is not None
            wait = due - queue.store_time()
            assert self.units(full * 0.5) - 1 <= wait <= self.units(full) + 1
            self.pass_time(full * 0.4)
            assert queue.claim() is None
            self.pass_time(full * 0.7)

    @needs("settings", "push")
    def test_the_wait_before_a_retry_has_jitter(self, queue: Queue) -> None:
        waits = set()
        for n in range(8):
            task = queue.push(n, backoff=1000.0)
            self.take(queue).fail("no")
            due = queue.detail(task.id).due
            assert due is not None
            waits.add(round(due - queue.store_time()))
        assert len(waits) > 1
        assert all(499 <= wait <= 1001 for wait in waits)

    @needs("settings", "push")
    def test_without_backoff_a_retry_is_ready_at_once(self, queue: Queue) -> None:
        queue.push(1, backoff=0.0)
        self.take(queue).fail("no")
        assert self.counts(queue) == {"ready": 1}
        assert self.take(queue).epoch == 2
