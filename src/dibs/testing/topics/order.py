"""Higher priority first; roughly oldest first within a priority."""

import pytest

from dibs.errors import BadInput
from dibs.queues.queue import Queue
from dibs.testing.harness import Contract, needs


class Order(Contract):
    @needs("order", "facets", "push")
    def test_higher_priority_comes_first(self, queue: Queue) -> None:
        asked: list[int | str] = ["low", 7, "critical", "normal", 150, "high", 0, 9999, "50"]
        for priority in asked:
            queue.push(priority, priority=priority)
        served = [self.take(queue).task.priority for _ in asked]
        assert served == [9999, 200, 150, 100, 50, 50, 7, 0, 0]

    @needs("order", "facets", "push")
    def test_a_late_urgent_task_overtakes(self, queue: Queue) -> None:
        worker = self.open()
        queue.push_many([{"n": n} for n in range(40)])
        self.take(worker)
        urgent = queue.push("now", priority="critical")
        self.pass_a_moment()
        assert self.take(worker).id == urgent.id

    @needs("order", "push")
    def test_no_task_is_passed_over_for_ever(self, queue: Queue) -> None:
        oldest = {task.id for task in queue.push_many(range(10))}
        for n in range(1000):
            queue.push(n)
            lease = self.take(queue)
            lease.complete()
            oldest.discard(lease.id)
            if not oldest:
                return
        raise AssertionError(f"{len(oldest)} of the 10 oldest tasks were passed over 1,000 times")

    @needs("facets", "push")
    @pytest.mark.parametrize("priority", [-1, 10_000, "urgent", 1.5, None, True, ""])
    def test_a_priority_that_is_none_is_refused(self, queue: Queue, priority: object) -> None:
        with pytest.raises(BadInput, match="priority"):
            queue.push(1, priority=priority)  # type: ignore[arg-type]
        assert self.counts(queue) == {}
