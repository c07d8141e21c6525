"""`with lease:` — kept alive in the background, ended by how the block ends. On the real clock: others beat for it."""

import pytest

from dibs.clock import SYSTEM
from dibs.errors import LeaseLost
from dibs.queues.queue import Queue
from dibs.states import State
from dibs.testing.harness import Contract


class Broken(Exception):
    pass


class Keeping(Contract):
    @pytest.fixture
    def real_queue(self, _prepare: None) -> Queue:
        return self.open(clock=SYSTEM)

    def test_a_block_completes_its_task_with_its_result(self, real_queue: Queue) -> None:
        task = self.add(real_queue)
        with self.take(real_queue, ttl=30) as lease:
            lease.result = {"pages": 3}
        assert (lease.state, lease.held) == ("completed", False)
        assert real_queue.detail(task.id).result == {"pages": 3}

    def test_an_exception_fails_the_task_and_goes_on(self, real_queue: Queue) -> None:
        task = self.add(real_queue)
        with pytest.raises(Broken), self.take(real_queue, ttl=30):
            raise Broken("no such page")
        detail = real_queue.detail(task.id)
        assert (detail.task.attempts, detail.error) == (1, "Broken: no such page")

    def test_an_interrupted_block_gives_its_task_back(self, real_queue: Queue) -> None:
        task = self.add(real_queue)
        with pytest.raises(KeyboardInterrupt), self.take(real_queue, ttl=30):
            raise KeyboardInterrupt
        again = real_queue.get(task.id)
        assert (again.state, again.attempts, again.deaths) == (State.READY, 0, 0)

    def test_a_block_may_end_its_task_itself(self, real_queue: Queue) -> None:
        task = self.add(real_queue)
        with self.take(real_queue, ttl=30) as lease:
            lease.fail("seen by the block", retry=False)
        assert real_queue.detail(task.id).error == "seen by the block"

    def test_a_block_outlives_its_ttl(self, real_queue: Queue) -> None:
        """It waits for what would happen if nobody renewed: that somebody else gets the task."""
        self.add(real_queue)
        with self.take(real_queue, ttl=1.0) as lease:
            assert self.open(clock=SYSTEM).claim(wait=2.5) is None
            assert lease.held
        assert self.counts(real_queue) == {"completed": 1}

    def test_a_block_learns_that_its_lease_is_lost(self, real_queue: Queue) -> None:
        task = self.add(real_queue)
        with pytest.raises(LeaseLost, match=task.id), self.take(real_queue, ttl=30):
            self.open(clock=SYSTEM).cancel(task.id)
        assert self.state(real_queue, task.id) is State.CANCELLED
