"""Waiting for work without a busy loop. Looks are counted, nothing is timed."""

from typing import Any

from dibs.facets import Filter
from dibs.queues.held import Lease
from dibs.queues.queue import Queue
from dibs.testing.clock import ManualClock
from dibs.testing.harness import Contract, needs

LOOKS_PER_SECOND = 25


class Waiting(Contract):
    def _count_looks(self, queue: Queue) -> list[float]:
        looks: list[float] = []
        look = queue._take

        def counted(limit: int, ttl: float, wanted: Filter) -> list[Lease]:
            looks.append(self.clock.boottime())
            return look(limit, ttl, wanted)

        queue._take = counted  # type: ignore[method-assign]
        return looks

    def test_without_waiting_there_is_one_look(self, queue: Queue) -> None:
        looks = self._count_looks(queue)
        before = len(self.clock.sleeps) if isinstance(self.clock, ManualClock) else 0
        assert queue.claim() is None
        assert len(looks) == 1
        if isinstance(self.clock, ManualClock):
            assert len(self.clock.sleeps) == before

    def test_waiting_ends_in_time_and_looks_seldom(self, queue: Queue) -> None:
        looks = self._count_looks(queue)
        start = self.clock.boottime()
        assert queue.claim(wait=self.units(30)) is None
        assert self.clock.boottime() - start >= self.units(30)
        assert 2 <= len(looks) <= 10 + LOOKS_PER_SECOND * self.units(30)

    def test_a_task_that_is_there_needs_no_waiting(self, queue: Queue) -> None:
        self.add(queue)
        looks = self._count_looks(queue)
        start = self.clock.boottime()
        assert queue.claim(wait=self.units(30), ttl=self.units(60)) is not None
        assert len(looks) == 1
        assert self.clock.boottime() - start < self.units(30)

    @needs("scheduling", "push")
    def test_waiting_finds_what_becomes_due(self, queue: Queue) -> None:
        task = queue.push("later", delay=self.units(5))
        start = self.clock.boottime()
        lease = queue.claim(wait=self.units(60), ttl=self.units(60))
        assert lease is not None
        assert lease.id == task.id
        assert self.units(4.9) <= self.clock.boottime() - start < self.units(30)

    def test_waiting_finds_what_expires(self, queue: Queue) -> None:
        task = self.add(queue)
        self.take(queue, ttl=self.units(5))
        lease = self.open().claim(wait=self.units(60), ttl=self.units(60))
        assert lease is not None
        assert (lease.id, lease.epoch) == (task.id, 2)

    def test_claims_go_on_until_the_queue_stays_empty(self, queue: Queue) -> None:
        for n in range(5):
            self.add(queue, {"n": n})
        seen: list[str] = []
        options: dict[str, Any] = {"ttl": self.units(60), "wait": self.units(2)}
        for lease in queue.claims(**options):
            if len(seen) == 2:
                self.add(queue, {"n": "more"})
            seen.append(lease.id)
            lease.complete()
        assert len(seen) == len(set(seen)) == 6
