"""When tasks ended. A list does not say it, so each task is looked at; that never changes, so it is done once."""

from collections import OrderedDict
from typing import Any

from dibs.errors import TaskNotFound, Unsupported
from dibs.serve.desk import Desk

MOST_KNOWN = 5000


class Endings:
    """Safe to use from several threads: the worst is a second look."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str, int], float | None] = OrderedDict()

    def add(self, desk: Desk, tasks: list[dict[str, Any]]) -> None:
        """To tasks that are over, as `Task.to_json` gives them. It may block."""
        for task in tasks:
            name = (desk.name, task["id"], task["epoch"])
            if name not in self._known:
                self._known[name] = _ended(desk, task["id"])
            task["ended_at"] = self._known.get(name)
        while len(self._known) > MOST_KNOWN:
            self._known.popitem(last=False)


def _ended(desk: Desk, task_id: str) -> float | None:
    try:
        return desk.queue.detail(task_id).ended_at
    except (TaskNotFound, Unsupported):
        return None  # it was purged a moment ago, or nobody knows
