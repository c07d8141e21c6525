"""Attempts and deaths, counted apart; the dead letter; retry."""

import pytest

from dibs.errors import LeaseLost
from dibs.queues.queue import Queue
from dibs.states import State
from dibs.testing.harness import Contract, needs


class Attempts(Contract):
    def test_a_failed_attempt_is_tried_again_and_then_fails(self, queue: Queue) -> None:
        task = self.add(queue)
        for attempt in range(1, task.max_attempts + 1):
            lease = self.take(queue)
            assert (lease.epoch, lease.task.attempts) == (attempt, attempt - 1)
            lease.fail(f"error {attempt}")
            assert lease.state == "failed"
            self.wait_until_due(queue, task.id)
        assert queue.claim() is None
        failed = queue.detail(task.id)
        assert (failed.task.state, failed.task.attempts, failed.task.deaths) == (State.FAILED, task.max_attempts, 0)
        assert failed.error == f"error {task.max_attempts}"
        assert [(event.epoch, event.what, event.error) for event in failed.history] == [
            (n, "failed", f"error {n}") for n in range(1, task.max_attempts + 1)
        ]
        assert f"error {task.max_attempts}" in queue.why(task.id).text

    @needs("settings", "push")
    def test_attempts_may_be_set_per_task(self, queue: Queue) -> None:
        for allowed in (1, 2):
            task = queue.push(1, max_attempts=allowed, backoff=0.0)
            for _ in range(allowed):
                self.take(queue).fail("no")
            assert self.state(queue, task.id) is State.FAILED

    def test_a_hopeless_task_fails_at_once(self, queue: Queue) -> None:
        task = self.add(queue)
        self.take(queue).fail("hopeless", retry=False)
        detail = queue.detail(task.id)
        assert (detail.task.state, detail.task.attempts, detail.error) == (State.FAILED, 1, "hopeless")

    @pytest.mark.parametrize(
        "error", ["", "x" * 20_000, "Fehler: größer\n\tin line 2\x00 🦀", ValueError("bad")], ids=type
    )
    def test_any_error_is_kept(self, queue: Queue, error: object) -> None:
        task = self.add(queue)
        self.take(queue).fail(error, retry=False)
        assert self.open().detail(task.id).error == str(error)

    def test_deaths_are_no_attempts(self, queue: Queue) -> None:
        task = self.add(queue)
        for deaths in range(1, 4):
            self.take(queue, ttl=self.units(5))
            self.pass_time(6)
            lease = self.take(self.open())
            assert (lease.task.deaths, lease.task.attempts) == (deaths, 0)
            lease.release()
        history = queue.detail(task.id).history
        assert len([event for event in history if event.worker]) >= 3

    def test_a_task_that_kills_its_workers_fails(self, queue: Queue) -> None:
        task = self.add(queue)
        for _ in range(task.max_deaths):
            self.take(self.open(), ttl=self.units(5))
            self.pass_time(6)
        assert self.open().claim() is None
        detail = queue.detail(task.id)
        assert (detail.task.state, detail.task.deaths, detail.task.attempts) == (State.FAILED, task.max_deaths, 0)
        assert detail.error
        assert f"{task.max_deaths} of {task.max_deaths} worker deaths" in queue.why(task.id).text

    @needs("settings", "push")
    def test_deaths_may_be_set_per_task(self, queue: Queue) -> None:
        task = queue.push(1, max_deaths=1)
        self.take(queue, ttl=self.units(5))
        self.pass_time(6)
        assert self.open().claim() is None
        assert self.state(queue, task.id) is State.FAILED

    @pytest.mark.parametrize("how", ["failed", "cancelled"])
    def test_a_retry_starts_afresh_and_the_epochs_go_on(self, queue: Queue, how: str) -> None:
        task = self.add(queue)
        lease = self.take(queue)
        if how == "failed":
            lease.fail("no", retry=False)
        else:
            queue.cancel(task.id)
        before = queue.get(task.id).epoch
        again = queue.retry(task.id)
        assert (again.id, again.state, again.attempts, again.deaths) == (task.id, State.READY, 0, 0)
        fresh = self.take(self.open())
        assert (fresh.id, fresh.epoch) == (task.id, before + 1)
        with pytest.raises(LeaseLost):
            lease.complete("stale")
        fresh.complete("fresh")
        assert queue.detail(task.id).result == "fresh"

    def test_a_retried_task_has_all_its_attempts_again(self, queue: Queue) -> None:
        task = self.add(queue)
        for _ in range(2):
            for _ in range(task.max_attempts):
                self.take(queue).fail("no")
                self.wait_until_due(queue, task.id)
            assert self.state(queue, task.id) is State.FAILED
            queue.retry(task.id)
        assert len(queue.detail(task.id).history) == 2 * task.max_attempts
