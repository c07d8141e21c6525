"""Large, deep and wrong input: a clear error or it works, and the queue stays as it was."""

from collections.abc import Callable
from typing import Any

import pytest

from dibs.errors import BadInput
from dibs.queues.queue import Queue
from dibs.states import State
from dibs.testing.harness import Contract, needs

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"delay": -1}, "delay"),
    ({"delay": "5"}, "delay"),
    ({"delay": float("nan")}, "delay"),
    ({"delay": float("inf")}, "delay"),
    ({"delay": 1e15}, "delay"),
    ({"at": "tomorrow"}, "at"),
    ({"at": float("nan")}, "at"),
    ({"at": 1e20}, "at"),
    ({"max_attempts": 0}, "max_attempts"),
    ({"max_attempts": 1.5}, "max_attempts"),
    ({"max_attempts": True}, "max_attempts"),
    ({"max_deaths": -1}, "max_deaths"),
    ({"max_deaths": None}, "max_deaths"),
    ({"max_runtime": 0}, "max_runtime"),
    ({"max_runtime": "1h"}, "max_runtime"),
    ({"max_runtime": float("inf")}, "max_runtime"),
    ({"backoff": -1}, "backoff"),
    ({"backoff": "x"}, "backoff"),
    ({"backoff": float("inf")}, "backoff"),
    ({"max_backoff": float("nan")}, "max_backoff"),
    ({"unique": "always"}, "unique"),
    ({"labels": 5}, "labels"),
    ({"labels": None}, "labels"),
    ({"after": 5}, "after"),
]


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def deeper(frames: int, call: Callable[[], Any]) -> Any:
    """Call with a longer stack, as a worker inside a framework does."""
    return call() if frames == 0 else deeper(frames - 1, call)


class Limits(Contract):
    @needs("owned", "push")
    def test_a_payload_of_ten_megabytes(self, queue: Queue) -> None:
        payload = {"data": "ü€" * 2_500_000}
        task = queue.push(payload)
        lease = self.take(self.open())
        assert lease.payload == payload
        lease.complete(payload)
        assert queue.detail(task.id).result == payload

    @needs("push")
    def test_a_payload_nested_too_deep_is_refused(self, queue: Queue) -> None:
        with pytest.raises(BadInput, match="deep"):
            queue.push(nested(10_000))
        with pytest.raises(BadInput, match="deep"):
            queue.push_many([{"fine": 1}, nested(10_000)])
        lease = self.take(queue) if self.counts(queue) else None
        assert lease is None or lease.payload == {"fine": 1}

    @needs("push")
    @pytest.mark.parametrize("depth", [100, 300, 600, 900, 960, 980])
    def test_what_push_accepts_every_worker_can_read(self, queue: Queue, depth: int) -> None:
        try:
            task = queue.push(nested(depth))
        except BadInput:
            assert depth > 100
            return
        lease = deeper(200, lambda: self.take(self.open()))
        assert lease.id == task.id

    @needs("push")
    @pytest.mark.parametrize(
        "payload",
        [{1, 2}, b"bytes", float("nan"), float("-inf"), object(), {"a": object()}, "\ud800", 10**5000],
        ids=type,
    )
    def test_a_payload_that_is_no_json_is_refused(self, queue: Queue, payload: Any) -> None:
        before = queue.push("before")
        with pytest.raises(BadInput, match="payload"):
            queue.push(payload)
        assert [task.id for task in queue.tasks()] == [before.id]

    @needs("push", "keys", "settings", "scheduling")
    @pytest.mark.parametrize(("wrong", "name"), WRONG, ids=ascii)
    def test_a_wrong_argument_is_refused_by_name(self, queue: Queue, wrong: dict[str, Any], name: str) -> None:
        with pytest.raises(BadInput, match=name) as refusal:
            queue.push(1, key="k", **wrong)
        assert "\n" not in str(refusal.value)
        assert self.counts(queue) == {}
        assert not queue.push(2, key="k").duplicate

    @needs("push")
    def test_many_tasks_in_one_push(self, queue: Queue) -> None:
        ids = {task.id for task in queue.push_many({"n": n} for n in range(4500))}
        assert len(ids) == 4500
        taken = {lease.id for _ in range(9) for lease in queue.claim_many(500, ttl=self.units(600))}
        assert taken == ids

    def test_a_result_of_megabytes(self, queue: Queue) -> None:
        task = self.add(queue)
        self.take(queue).complete({"data": "y" * 3_000_000})
        detail = self.open().detail(task.id)
        assert detail.task.state is State.COMPLETED
        assert len(detail.result["data"]) == 3_000_000
