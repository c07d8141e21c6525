"""Push, claim, complete; results; opening and closing."""

from typing import Any

import pytest

from dibs.errors import TaskNotFound, Unsupported
from dibs.queues.queue import Queue
from dibs.states import State
from dibs.task import NewTask
from dibs.testing.harness import Contract, needs

PAYLOADS: list[Any] = [
    None,
    0,
    False,
    "",
    [],
    {},
    -1.5e300,
    2**80,
    "Grüße, 世界 🦀\u2028\x00\x1f",
    {"a": [1, {"b": None}], "": "empty", "é": [[], {}]},
]

ASKS: dict[str, list[dict[str, Any]]] = {
    "keys": [{"key": "k"}],
    "facets": [{"priority": "high"}, {"project": "p"}, {"labels": ["x"]}],
    "scheduling": [{"delay": 5}, {"at": 4e9}],
    "dependencies": [{"after": ["another"]}],
    "settings": [{"max_attempts": 7}, {"max_deaths": 7}, {"max_runtime": 7.0}, {"backoff": 7.0}],
}


class Basics(Contract):
    def test_the_capabilities_are_as_declared(self, queue: Queue) -> None:
        assert queue.capabilities == self.capabilities

    def test_undeclared_features_are_refused(self, queue: Queue) -> None:
        if not queue.capabilities.push:
            with pytest.raises(Unsupported, match=r"\w+"):
                queue.push({"n": 1})
        for capability, asks in ASKS.items():
            if not getattr(queue.capabilities, capability):
                for ask in asks:
                    with pytest.raises(Unsupported, match=r"\w+"):
                        queue.push({"n": 1}, **ask)
        if not queue.capabilities.prioritises:
            with pytest.raises(Unsupported, match=r"use \w+"):
                queue.set_priority("any", "high")
        assert self.counts(queue) == {}

    def test_an_empty_queue_has_nothing_to_claim(self, queue: Queue) -> None:
        assert queue.claim() is None
        assert queue.claim_many(5) == []
        assert self.counts(queue) == {}

    def test_a_task_is_claimed_once_and_completed(self, queue: Queue) -> None:
        task = self.add(queue, {"n": 1})
        assert self.counts(queue) == {"ready": 1}
        lease = self.take(queue)
        assert (lease.id, lease.epoch, lease.payload) == (task.id, 1, task.payload)
        assert queue.claim() is None
        assert self.counts(queue) == {"claimed": 1}
        lease.complete()
        assert lease.state == "completed"
        assert queue.claim() is None
        done = queue.get(task.id)
        assert (done.state, done.epoch, done.attempts, done.deaths) == (State.COMPLETED, 1, 0, 0)
        assert self.counts(queue) == {"completed": 1}

    def test_every_task_is_claimed_once(self, queue: Queue) -> None:
        ids = {self.add(queue, {"n": n}).id for n in range(30)}
        leases = [self.take(queue) for _ in ids]
        assert {lease.id for lease in leases} == ids
        assert queue.claim() is None
        for lease in leases:
            lease.complete()
        assert self.counts(queue) == {"completed": 30}

    @needs("owned", "push")
    @pytest.mark.parametrize("payload", PAYLOADS, ids=ascii)
    def test_a_payload_comes_back_as_it_was(self, queue: Queue, payload: Any) -> None:
        task = queue.push(payload)
        assert queue.get(task.id).payload == payload
        found = self.take(self.open()).payload
        assert (found, type(found)) == (payload, type(payload))

    @pytest.mark.parametrize("result", PAYLOADS, ids=ascii)
    def test_a_result_is_kept(self, queue: Queue, result: Any) -> None:
        task = self.add(queue)
        self.take(queue).complete(result)
        assert self.open().detail(task.id).result == result

    @needs("owned", "push")
    def test_push_many_keeps_the_order_and_takes_payloads_and_new_tasks(self, queue: Queue) -> None:
        pushed = queue.push_many([{"n": 0}, NewTask(payload={"n": 1}), {"n": 2}])
        assert [task.payload["n"] for task in pushed] == [0, 1, 2]
        assert len({task.id for task in pushed}) == 3
        assert self.counts(queue) == {"ready": 3}
        assert queue.push_many([]) == []

    @needs("push")
    def test_ids_are_unique_and_sort_by_time(self, queue: Queue) -> None:
        ids = [queue.push(n).id for n in range(50)]
        assert ids == sorted(set(ids))

    @pytest.mark.parametrize("ref", ["nothing", "0" * 32, "../../etc/passwd", "", "a\nb", "\0"])
    def test_an_unknown_task_is_not_found(self, queue: Queue, ref: str) -> None:
        self.add(queue)
        for look in (queue.get, queue.detail, queue.why, queue.cancel, queue.retry):
            with pytest.raises(TaskNotFound):
                look(ref)
        assert self.counts(queue) == {"ready": 1}

    def test_two_queue_objects_are_one_queue(self, queue: Queue) -> None:
        other = self.open()
        task = self.add(queue, {"n": 1})
        lease = self.take(other)
        assert lease.id == task.id
        assert queue.claim() is None
        lease.complete("by the other")
        assert queue.detail(task.id).result == "by the other"

    def test_what_another_pushed_before_the_claim_is_found(self, queue: Queue) -> None:
        other = self.open()
        for n in range(40):
            task = self.add(other, {"n": n})
            lease = self.take(queue)
            assert lease.id == task.id
            lease.complete()

    def test_a_queue_can_be_closed_twice_and_opened_again(self, queue: Queue) -> None:
        task = self.add(queue)
        with queue as same:
            assert same is queue
        queue.close()
        assert self.take(self.open()).id == task.id

    def test_closing_gives_up_no_lease_early(self, queue: Queue) -> None:
        task = self.add(queue)
        lease = self.take(queue, ttl=self.units(10))
        queue.close()
        other = self.open()
        self.pass_time(5)
        assert other.claim() is None
        lease.complete()
        assert self.state(other, task.id) is State.COMPLETED

    def test_what_a_closed_queue_held_expires(self, queue: Queue) -> None:
        task = self.add(queue)
        self.take(queue, ttl=self.units(10))
        queue.close()
        self.pass_time(11)
        assert (lease := self.take(self.open())).id == task.id
        assert lease.epoch == 2
