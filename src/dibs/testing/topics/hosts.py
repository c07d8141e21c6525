"""Two hosts, whose clocks have nothing to do with each other."""

from typing import Any

import pytest

from dibs.errors import LeaseLost
from dibs.host import Host
from dibs.queues.held import Lease
from dibs.queues.queue import Queue
from dibs.states import State
from dibs.testing.clock import ManualClock
from dibs.testing.harness import Contract, needs


class FarClock(ManualClock):
    """Another machine's clocks: they run with ours, from another boot and with a wall clock that is wrong."""

    def __init__(self, ours: ManualClock, wrong: float) -> None:
        super().__init__()
        self._ours = ours
        self._wrong = wrong

    def boottime(self) -> float:
        return self._ours.boottime() - 4_000.0

    def wall(self) -> float:
        return self._ours.wall() + self._wrong

    @property
    def advanced(self) -> float:
        return self._ours.advanced

    @advanced.setter
    def advanced(self, seconds: float) -> None:
        """It moves with ours alone."""

    def step_wall(self, seconds: float) -> None:
        self._wrong += seconds

    def sleep(self, seconds: float) -> None:
        self._ours.sleep(seconds)


class Hosts(Contract):
    def _far_queue(self, wrong: float = 0.0, **more: Any) -> tuple[Queue, FarClock]:
        assert isinstance(self.clock, ManualClock)
        clock = FarClock(self.clock, wrong)
        identity = {"name": "far", "machine": "far-machine", "boot": "far-boot", "space": "pid:[9]", **more}
        return self.open(host=Host(**identity), clock=clock), clock

    def _watch(self, queue: Queue, units: int) -> Lease | None:
        """Let another host look again and again, as a worker does."""
        for _ in range(units * 2):
            if (lease := queue.claim(ttl=self.units(60))) is not None:
                return lease
            self.pass_time(0.5)
        return None

    @needs("processes", "manual_time")
    def test_a_claim_that_another_host_renews_is_not_shown_as_run_out(self, queue: Queue) -> None:
        assert isinstance(self.clock, ManualClock)
        far, _ = self._far_queue()
        self.add(queue)
        lease = self.take(far, ttl=self.units(20))
        for _ in range(3):
            self.pass_time(15)
            lease.renew()
        self.pass_time(15)
        (claim,) = queue.claimed()
        left = [claim.expires_at - now for now in (self.clock.wall(), queue.store_time())]
        assert any(0 < seconds <= claim.ttl + 1 for seconds in left), f"{left} s left by either clock"

    @needs("processes", "manual_time")
    @pytest.mark.parametrize("wrong", [0.0, 3600.0, -3600.0, 1e8])
    def test_a_wrong_clock_neither_loses_nor_steals_a_lease(self, queue: Queue, wrong: float) -> None:
        assert isinstance(self.clock, ManualClock)
        far, clock = self._far_queue(wrong)
        for holder, watcher in ((queue, far), (far, queue)):
            self.add(queue)
            lease = self.take(holder, ttl=self.units(20))
            for step in (3600.0, -7200.0, 3600.0):
                assert self._watch(watcher, 15) is None
                clock.step_wall(step)
                self.clock.step_wall(-step)
                lease.renew()
                assert lease.held
            lease.complete()
        assert self.counts(queue) == {"completed": 2}

    @needs("processes", "manual_time")
    @pytest.mark.parametrize("wrong", [0.0, 3600.0, -3600.0])
    def test_a_silent_host_is_taken_over_from_after_watching_for_the_ttl(self, queue: Queue, wrong: float) -> None:
        assert isinstance(self.clock, ManualClock)
        far, _ = self._far_queue(wrong)
        for holder, watcher in ((queue, far), (far, queue)):
            task = self.add(queue)
            stale = self.take(holder, ttl=self.units(20))
            assert self._watch(watcher, 19) is None
            taken = self._watch(watcher, 30)
            assert taken is not None
            assert (taken.id, taken.epoch, taken.task.deaths) == (task.id, 2, 1)
            with pytest.raises(LeaseLost):
                stale.complete()
            taken.complete()

    @needs("processes", "manual_time")
    def test_a_host_that_booted_again_counts_no_death(self, queue: Queue) -> None:
        assert isinstance(self.clock, ManualClock)
        far, _ = self._far_queue(machine=queue.host.machine, name=queue.host.name)
        task = self.add(queue)
        self.take(far, ttl=self.units(20))
        taken = self._watch(queue, 50)
        assert taken is not None
        assert (taken.id, taken.epoch, taken.task.deaths) == (task.id, 2, 0)

    @needs("scheduling", "push", "processes", "manual_time", "records")
    @pytest.mark.parametrize("wrong", [3600.0, -3600.0])
    def test_a_wrong_clock_shows_what_is_due_as_a_claim_would_find_it(self, queue: Queue, wrong: float) -> None:
        task = queue.push("later", delay=self.units(20))
        due = queue.detail(task.id).due
        assert due is not None
        far, _ = self._far_queue(wrong)
        for units in (18, 3):
            self.pass_time(units)
            found = far.store_time() >= due
            assert self.state(far, task.id) is (State.READY if found else State.SCHEDULED)
            assert self.counts(far) == {"ready" if found else "scheduled": 1}
            assert (self.open(host=far.host, clock=far.clock).claim() is not None) is found
            if found:
                return
        assert wrong < 0, "its own clock is the store's, and late"
