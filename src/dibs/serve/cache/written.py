"""Tasks as JSON. One that is remembered, and so the same object in the next list, is written once."""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from dibs.queues.remote.wire import dump
from dibs.serve.masking import NOTHING_HIDDEN, Masking
from dibs.task import Task

MOST = 5_000


class Page(NamedTuple):
    size: int
    shown: frozenset[str]  # ids; of a task that moved meanwhile once
    tasks: bytes  # a JSON array

    def followed_by(self, name: str | None) -> bytes:
        return b'{"tasks":%b,"next":%b}' % (self.tasks, dump(name))


class Written:
    """`lasting`: whether the same task is the same object each time; else nothing is kept. `mask`: what is hidden."""

    def __init__(self, *, lasting: bool, mask: Masking = NOTHING_HIDDEN) -> None:
        self._lasting = lasting
        self._mask = mask
        self._known: dict[int, tuple[Task, bytes]] = {}

    def page(self, tasks: Iterator[Task], most: int) -> Page:
        """The next so many."""
        shown = list(islice(tasks, most))
        ids = frozenset([task.id for task in shown])
        return Page(len(shown), ids, b"[%b]" % b",".join(map(self._one, shown)))

    def _one(self, task: Task) -> bytes:
        known = self._known.get(id(task)) if self._lasting else None
        if known is not None and known[0] is task:
            return known[1]
        data = dump(self._mask.record(task.to_json()))
        if self._lasting:
            if len(self._known) >= MOST:
                self._known.clear()
            self._known[id(task)] = (task, data)
        return data
