"""Leases kept alive by another process: handle, beat, end."""

import pytest

from dibs.errors import LeaseLost
from dibs.queues.queue import Queue
from dibs.states import State
from dibs.testing.harness import Contract


class Guards(Contract):
    def test_a_lease_lives_as_long_as_somebody_beats_for_it(self, queue: Queue) -> None:
        self.add(queue)
        lease = self.take(queue, ttl=self.units(20))
        guard, other = self.open(), self.open()
        handle = queue.handle(lease)
        for _ in range(4):
            self.pass_time(15)
            until = guard.beat(handle)
            assert until is not None
            assert until > self.clock.boottime()
            assert other.claim() is None
            assert lease.held
            assert self.clock.boottime() < queue.kept_until(lease) <= until
        lease.complete("kept")
        assert self.counts(queue) == {"completed": 1}

    def test_without_beats_it_expires_and_a_late_beat_is_refused(self, queue: Queue) -> None:
        self.add(queue)
        lease = self.take(queue, ttl=self.units(20))
        guard = self.open()
        handle = queue.handle(lease)
        assert guard.beat(handle) is not None
        self.pass_time(21)
        assert guard.beat(handle) is None
        assert not lease.held
        assert self.take(self.open()).epoch == 2
        assert guard.beat(handle) is None
        with pytest.raises(LeaseLost):
            lease.complete()

    def test_an_ended_holder_frees_what_it_held_at_once(self, queue: Queue) -> None:
        task = self.add(queue)
        lease = self.take(queue, ttl=self.units(600))
        guard = self.open()
        handle = queue.handle(lease)
        assert guard.beat(handle) is not None
        guard.end(handle)
        taken = self.take(self.open())
        assert (taken.id, taken.epoch, taken.task.deaths) == (task.id, 2, 1)
        assert guard.beat(handle) is None
        with pytest.raises(LeaseLost):
            lease.complete()

    def test_ending_twice_or_what_is_unknown_does_no_harm(self, queue: Queue) -> None:
        self.add(queue)
        lease = self.take(queue, ttl=self.units(600))
        handle = queue.handle(lease)
        guard = self.open()
        guard.end(handle)
        guard.end(handle)
        assert self.take(self.open()).epoch == 2

    def test_a_finished_lease_needs_no_more_beats(self, queue: Queue) -> None:
        task = self.add(queue)
        lease = self.take(queue, ttl=self.units(20))
        guard = self.open()
        handle = queue.handle(lease)
        guard.beat(handle)
        lease.complete("done")
        guard.beat(handle)
        guard.end(handle)
        self.pass_time(21)
        assert self.open().claim() is None
        assert self.state(queue, task.id) is State.COMPLETED
