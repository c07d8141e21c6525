"""A task that waits for nothing any more is shown as ready, though no claimer has met it yet.

Whoever watches a queue asks "is there work, and does anybody do it?". So every view shows what a claim of this
moment would find, by the store's clock, and changes nothing by looking.
"""

from dibs.queues.queue import Queue
from dibs.states import State
from dibs.testing.harness import Contract, needs


class Due(Contract):
    def _assert_ready(self, queue: Queue, task_id: str) -> None:
        assert self.counts(queue) == {"ready": 1}
        assert self.state(queue, task_id) is State.READY
        assert [(task.id, task.state) for task in queue.tasks("ready")] == [(task_id, State.READY)]
        assert [(task.id, task.state) for task in queue.tasks()] == [(task_id, State.READY)]
        assert list(queue.tasks("scheduled")) == []
        detail = queue.detail(task_id)
        assert (detail.task.state, detail.due) == (State.READY, None)
        assert queue.why(task_id).state == "ready"

    @needs("scheduling", "push", "records")
    def test_what_is_due_is_shown_as_ready(self, queue: Queue) -> None:
        task = queue.push("later", delay=self.units(20))
        assert [task.state for task in queue.tasks("scheduled")] == [State.SCHEDULED]
        assert list(queue.tasks("ready")) == []
        self.pass_time(21)
        self._assert_ready(queue, task.id)
        self._assert_ready(self.open(), task.id)
        lease = self.take(queue)
        assert (lease.id, lease.epoch) == (task.id, 1)

    @needs("records")
    def test_what_was_released_with_a_delay_is_shown_as_ready_when_that_is_over(self, queue: Queue) -> None:
        task = self.add(queue)
        self.take(queue).release(self.units(20))
        assert self.counts(queue) == {"scheduled": 1}
        self.pass_time(21)
        self._assert_ready(queue, task.id)

    @needs("records")
    def test_a_retry_is_shown_as_ready_when_its_wait_is_over(self, queue: Queue) -> None:
        task = self.add(queue)
        self.take(queue).fail("no")
        self.wait_until_due(queue, task.id)
        self._assert_ready(queue, task.id)
        assert "1 of" in queue.why(task.id).text, "the attempts that are used"
        lease = self.take(queue)
        assert (lease.epoch, lease.task.attempts) == (2, 1)

    @needs("scheduling", "push", "facets")
    def test_what_is_due_is_counted_where_it_belongs(self, queue: Queue) -> None:
        queue.push(1, delay=self.units(20), project="a", labels=["x"], priority=100)
        queue.push(2, delay=self.units(20))
        queue.push(3, delay=self.units(2000), project="a", labels=["x"], priority=100)
        queue.push(4, project="a")
        self.pass_time(21)
        stats = self.open().stats()
        assert {state: count for state, count in stats.states.items() if count} == {"ready": 3, "scheduled": 1}
        assert stats.priorities == {50: {"ready": 2}, 100: {"ready": 1, "scheduled": 1}}
        assert stats.projects == {"a": {"ready": 2, "scheduled": 1}}
        assert stats.labels == {"x": {"ready": 1, "scheduled": 1}}
        assert [task.payload for task in queue.tasks("ready", project="a")] == [1, 4]
        assert [task.payload for task in queue.tasks("scheduled")] == [3]

    @needs("scheduling", "push", "order", "facets")
    def test_what_is_due_is_listed_at_its_priority(self, queue: Queue) -> None:
        for n, (priority, delay) in enumerate([(50, 0), (100, 20), (50, 20), (0, 20), (100, 0), (0, 2000)]):
            queue.push(n, priority=priority, delay=self.units(delay))
        self.pass_time(21)
        listed = [(task.priority, task.payload) for task in queue.tasks("ready")]
        assert [priority for priority, _ in listed] == [100, 100, 50, 50, 0]
        assert sorted(payload for _, payload in listed) == [0, 1, 2, 3, 4]
        assert [task.payload for task in queue.tasks()][:2] in ([1, 4], [4, 1])
        assert len(list(queue.tasks("ready", limit=3))) == 3
        assert [task.payload for task in queue.tasks("scheduled")] == [5]

    @needs("scheduling", "push", "records")
    def test_looking_changes_nothing(self, queue: Queue) -> None:
        task = queue.push("later", delay=self.units(20))
        self.pass_time(21)
        for _ in range(3):
            self._assert_ready(self.open(), task.id)
        assert self.take(queue).epoch == 1
        assert self.open().claim() is None
        assert self.counts(queue) == {"claimed": 1}

    @needs("scheduling", "push", "records")
    def test_what_is_due_can_be_steered_like_what_is_ready(self, queue: Queue) -> None:
        first, second = (queue.push(n, delay=self.units(20)).id for n in range(2))
        self.pass_time(21)
        assert queue.cancel(first).state is State.CANCELLED
        assert self.counts(queue) == {"ready": 1, "cancelled": 1}
        if queue.capabilities.prioritises:
            queue.set_priority(second, 70)
            assert [(task.id, task.priority) for task in queue.tasks("ready")] == [(second, 70)]
        assert self.take(queue).id == second

    @needs("dependencies", "push", "keys")
    def test_what_waited_for_a_key_is_shown_as_ready_when_that_is_completed(self, queue: Queue) -> None:
        """Whether or not there was a task of that key when it was pushed."""
        task = queue.push("second", after=["first"])
        queue.push("first", key="first")
        self.take(queue).complete()
        assert self.counts(self.open()) == {"ready": 1, "completed": 1}
        assert self.state(queue, task.id) is State.READY
