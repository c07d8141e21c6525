"""Claiming and listing by project, labels and priority."""

from typing import Any

import pytest

from dibs.errors import BadInput
from dibs.queues.queue import Queue
from dibs.testing.harness import Contract, needs

TASKS: dict[str, dict[str, Any]] = {
    "plain": {},
    "web": {"project": "web"},
    "web-gpu": {"project": "web", "labels": ["gpu"]},
    "gpu-big": {"labels": ["gpu", "big"], "priority": "high"},
    "urgent": {"project": "web", "priority": "critical"},
    "odd": {"project": "a/b\n../c", "labels": ["x y", "é🦀", "50-"]},
}
FILTERS: list[tuple[dict[str, Any], set[str]]] = [
    ({}, set(TASKS)),
    ({"project": "web"}, {"web", "web-gpu", "urgent"}),
    ({"labels": ["gpu"]}, {"web-gpu", "gpu-big"}),
    ({"labels": ["gpu", "big"]}, {"gpu-big"}),
    ({"labels": "gpu"}, {"web-gpu", "gpu-big"}),
    ({"max_priority": "normal"}, {"plain", "web", "web-gpu", "odd"}),
    ({"max_priority": 100}, {"plain", "web", "web-gpu", "odd", "gpu-big"}),
    ({"max_priority": 49}, set()),
    ({"project": "web", "labels": ["gpu"], "max_priority": 50}, {"web-gpu"}),
    ({"project": "WEB"}, set()),
    ({"project": "a/b\n../c"}, {"odd"}),
    ({"labels": ["é🦀", "x y"]}, {"odd"}),
    ({"labels": ["absent"]}, set()),
]
NAMES = [ascii(wanted) for wanted, _ in FILTERS]


class Filters(Contract):
    def _fill(self, queue: Queue) -> dict[str, str]:
        return {queue.push(name, **more).id: name for name, more in TASKS.items()}

    @needs("facets", "push")
    @pytest.mark.parametrize(("wanted", "expected"), FILTERS, ids=NAMES)
    def test_only_what_is_wanted_is_claimed(self, queue: Queue, wanted: dict[str, Any], expected: set[str]) -> None:
        names = self._fill(queue)
        worker = self.open()
        taken = set()
        while (lease := worker.claim(**wanted)) is not None:
            taken.add(names[lease.id])
        assert taken == expected
        assert len(queue.claim_many(100)) == len(TASKS) - len(expected)

    @needs("facets", "push")
    @pytest.mark.parametrize(("wanted", "expected"), FILTERS, ids=NAMES)
    def test_batches_are_filtered_too(self, queue: Queue, wanted: dict[str, Any], expected: set[str]) -> None:
        names = self._fill(queue)
        assert {names[lease.id] for lease in self.open().claim_many(100, **wanted)} == expected

    @needs("facets", "push")
    def test_listings_are_filtered(self, queue: Queue) -> None:
        self._fill(queue)
        other = self.open()
        assert {task.payload for task in other.tasks(project="web")} == {"web", "web-gpu", "urgent"}
        assert {task.payload for task in other.tasks("ready", labels=["gpu"])} == {"web-gpu", "gpu-big"}
        assert list(other.tasks("completed", project="web")) == []

    @needs("facets", "push")
    def test_one_claimer_may_change_its_filter(self, queue: Queue) -> None:
        names = self._fill(queue)
        web: dict[str, Any] = {"project": "web", "max_priority": 50}
        asked: list[dict[str, Any]] = [{"labels": ["big"]}, {**web, "labels": ["gpu"]}, web, {}]
        taken = [names[self.take(queue, **wanted).id] for wanted in asked]
        assert taken == ["gpu-big", "web-gpu", "web", "urgent"]

    @needs("facets", "push")
    def test_facets_survive_the_life_of_a_task(self, queue: Queue) -> None:
        task = queue.push(1, project="p", labels=["b", "a", "b"], priority=77)
        self.take(queue).fail("once")
        self.wait_until_due(queue, task.id)
        lease = self.take(self.open(), project="p", labels=["a"], max_priority=77)
        assert lease.id == task.id
        lease.complete()
        done = self.open().get(task.id)
        assert (done.project, done.labels, done.priority) == ("p", ("a", "b"), 77)

    @needs("facets", "push")
    @pytest.mark.parametrize(
        "more",
        [{"project": ""}, {"project": 5}, {"project": "x" * 129}, {"labels": "gpu"}, {"labels": [""]}, {"labels": [3]}],
        ids=ascii,
    )
    def test_what_is_no_project_or_label_is_refused(self, queue: Queue, more: dict[str, Any]) -> None:
        with pytest.raises(BadInput, match=r"project|label"):
            queue.push(1, **more)
        assert self.counts(queue) == {}
