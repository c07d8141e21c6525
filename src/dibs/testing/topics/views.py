"""What a queue shows of itself: stats, tasks, claimed, detail, why."""

import json

import pytest

from dibs.errors import BadInput
from dibs.queues.queue import Queue
from dibs.states import State
from dibs.testing.harness import Contract, needs


class Views(Contract):
    def test_stats_count_every_state(self, queue: Queue) -> None:
        for n in range(6):
            self.add(queue, {"n": n})
        self.take(queue).complete()
        self.take(queue).fail("no", retry=False)
        queue.cancel(self.take(queue).id)
        self.take(queue).release(self.units(50))
        self.take(queue)
        stats = self.open().stats()
        expected = {"ready": 1, "scheduled": 1, "claimed": 1, "completed": 1, "failed": 1, "cancelled": 1}
        assert {str(state): count for state, count in stats.states.items() if count} == expected
        assert stats.total == 6
        assert json.loads(json.dumps(stats.to_json()))["total"] == 6

    @needs("facets", "push")
    def test_stats_count_by_priority_project_and_label(self, queue: Queue) -> None:
        queue.push(1, project="a", labels=["x", "y"])
        queue.push(2, project="a", labels=["y"], priority="high")
        queue.push(3)
        assert self.take(queue).payload == 2
        stats = self.open().stats()
        assert stats.priorities == {50: {"ready": 2}, 100: {"claimed": 1}}
        assert stats.projects == {"a": {"ready": 1, "claimed": 1}}
        assert stats.labels == {"x": {"ready": 1}, "y": {"ready": 1, "claimed": 1}}

    def test_tasks_are_listed_by_state_and_limit(self, queue: Queue) -> None:
        ids = [self.add(queue, {"n": n}).id for n in range(10)]
        held = self.take(queue).id
        other = self.open()
        assert {task.id for task in other.tasks()} == set(ids)
        assert [task.id for task in other.tasks("claimed")] == [held]
        assert {task.id for task in other.tasks(State.READY)} == set(ids) - {held}
        assert len(list(other.tasks(limit=3))) == 3
        assert list(other.tasks(limit=0)) == []
        assert list(other.tasks("failed")) == []
        listed = next(iter(other.tasks("claimed")))
        assert (listed.state, listed.epoch) == (State.CLAIMED, 1)

    @needs("order", "facets", "push")
    def test_ready_tasks_are_listed_in_the_order_of_running(self, queue: Queue) -> None:
        for n, priority in enumerate([0, 50, 100, 0, 50, 100]):
            queue.push(n, priority=priority)
        assert [task.payload for task in queue.tasks("ready")] == [2, 5, 1, 4, 0, 3]

    def test_an_unknown_state_is_refused(self, queue: Queue) -> None:
        with pytest.raises(BadInput, match="running"):
            list(queue.tasks("running"))

    def test_claimed_says_who_holds_what(self, queue: Queue) -> None:
        task = self.add(queue)
        assert queue.claimed() == []
        lease = self.take(queue, ttl=self.units(30))
        (claim,) = self.open().claimed()
        assert (claim.id, claim.epoch, claim.worker, claim.ttl) == (task.id, 1, lease.worker, self.units(30))
        assert claim.host == queue.host.name
        assert claim.expires_at == pytest.approx(claim.heartbeat_at + claim.ttl)
        assert json.loads(json.dumps(claim.to_json()))["epoch"] == 1
        lease.complete()
        assert queue.claimed() == []

    def test_detail_tells_the_whole_story(self, queue: Queue) -> None:
        task = self.add(queue, {"n": 1})
        self.take(queue).fail("first try")
        self.wait_until_due(queue, task.id)
        lease = self.take(queue)
        held = self.open().detail(task.id)
        assert held.claim is not None
        assert (held.claim.epoch, held.claim.worker) == (2, lease.worker)
        assert held.ended_at is None
        lease.complete({"ok": True})
        done = self.open().detail(task.id)
        assert done.claim is None
        assert done.ended_at is not None
        assert done.result == {"ok": True}
        assert [(event.epoch, event.what) for event in done.history] == [(1, "failed"), (2, "completed")]
        record = json.loads(json.dumps(done.to_json()))
        assert record["task"]["id"] == task.id
        assert record["result"] == {"ok": True}

    def test_why_explains_every_state(self, queue: Queue) -> None:
        task = self.add(queue)
        assert "ready" in queue.why(task.id).text
        lease = self.take(queue)
        why = queue.why(task.id)
        assert lease.worker in why.text
        assert "epoch 1" in why.text
        assert why.state == "claimed"
        lease.fail("disk full")
        assert "disk full" in queue.why(task.id).text
        assert queue.why(task.id).ready_at is not None
        self.wait_until_due(queue, task.id)
        self.take(queue).complete()
        assert "completed at epoch 2" in queue.why(task.id).text
        assert json.loads(json.dumps(queue.why(task.id).to_json()))["state"] == "completed"

    def test_why_says_that_a_lease_ran_out(self, queue: Queue) -> None:
        task = self.add(queue)
        self.take(queue, ttl=self.units(20))
        self.pass_time(21)
        why = queue.why(task.id)
        assert "the next" in why.text, "that another worker may take it"
        assert why.state == "ready" or "ran out" in why.text

    @needs("facets", "push")
    def test_why_names_the_filter_that_leaves_a_task_out(self, queue: Queue) -> None:
        task = queue.push(1, project="web", labels=["gpu"], priority=100)
        assert "filter" not in queue.why(task.id, project="web", labels=["gpu"]).text
        assert "project" in queue.why(task.id, project="mobile").text
        assert "big" in queue.why(task.id, labels=["gpu", "big"]).text
        assert "priority 100" in queue.why(task.id, max_priority=50).text

    @needs("owned", "push")
    def test_a_task_shows_what_was_pushed(self, queue: Queue) -> None:
        before = queue.store_time()
        task = queue.push({"url": "x"})
        assert before - 1 <= task.pushed_at <= queue.store_time() + 1
        shown = self.open().get(task.id)
        assert shown == task
        assert json.loads(json.dumps(shown.to_json()))["payload"] == {"url": "x"}
