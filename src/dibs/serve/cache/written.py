"""Tasks as JSON. One that is remembered, and so the same object in the next list, is written once."""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from dibs.queues.remote.wire import dump
from dibs.task import Task

MOST = 5_000


class Page(NamedTuple):
    size: int
    tasks: bytes  # a JSON array

    def followed_by(self, name: str | None) -> bytes:
        return b'{"tasks":%b,"next":%b}' % (self.tasks, dump(name))


class Written:
    """`lasting`: whether the same task is the same object each time; else nothing is kept."""

    def __init__(self, *, lasting: bool) -> None:
        self._lasting = lasting
        self._known: dict[int, tuple[Task, bytes]] = {}

    def page(self, tasks: Iterator[Task], most: int) -> Page:
        """The next so many."""
        parts = [self._one(task) for task in islice(tasks, most)]
        return Page(len(parts), b"[%b]" % b",".join(parts))

    def _one(self, task: Task) -> bytes:
        known = self._known.get(id(task)) if self._lasting else None
        if known is not None and known[0] is task:
            return known[1]
        data = dump(task.to_json())
        if self._lasting:
            if len(self._known) >= MOST:
                self._known.clear()
            self._known[id(task)] = (task, data)
        return data
