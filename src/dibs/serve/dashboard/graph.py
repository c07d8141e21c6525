"""What waits for what: tasks that have to run after others, and those others. Bounded, however large the queue is."""

from itertools import islice
from typing import Any

from dibs.errors import DibsError
from dibs.serve.dashboard.shown import line_of
from dibs.serve.desk import Desk
from dibs.serve.masking import Hide
from dibs.states import State
from dibs.task import Task

MOST_NODES = 300
MOST_LOOKED_AT = 1000  # of each state
_ORDER = (State.BLOCKED, State.CLAIMED, State.READY, State.SCHEDULED, State.FAILED, State.COMPLETED)


class Drawing:
    def __init__(self, desk: Desk, hide: Hide) -> None:
        self._desk = desk
        self._hide = hide
        self._nodes: dict[str, dict[str, Any]] = {}  # by id, or by reference where there is no such task
        self._names: dict[str, str] = {}  # id or key -> its place in `_nodes`
        self.cut = False

    def around(self, ref: str) -> None:
        """One task, and all that it waits for, however far."""
        open_ones = [ref]
        while open_ones and not self._full():
            wanted = open_ones.pop()
            if wanted not in self._names:
                open_ones.extend(self._look_up(wanted))

    def all(self) -> None:
        for state in _ORDER:
            for number, task in enumerate(islice(self._desk.look.tasks(state), MOST_LOOKED_AT + 1)):
                if number == MOST_LOOKED_AT:
                    self.cut = self.cut or state is State.BLOCKED
                elif task.after and not self._full():
                    self._add(task)
        refs = [ref for node in list(self._nodes.values()) for ref in node["after"]]
        for ref in dict.fromkeys(refs):
            if ref not in self._names and not self._full():
                self._look_up(ref)

    def to_json(self) -> dict[str, Any]:
        nodes = [
            {**node, "after": [self._names[ref] for ref in node["after"] if ref in self._names]}
            for node in self._nodes.values()
        ]
        return {"nodes": nodes, "cut": self.cut}

    def _full(self) -> bool:
        full = len(self._nodes) >= MOST_NODES
        self.cut = self.cut or full
        return full

    def _look_up(self, ref: str) -> tuple[str, ...]:
        try:
            task = self._desk.queue.get(ref)
        except DibsError:
            self._nodes[ref] = {"id": ref, "key": ref, "state": "unknown", "text": "", "after": ()}
            self._names[ref] = ref
            return ()
        self._names[ref] = task.id
        return self._add(task)

    def _add(self, task: Task) -> tuple[str, ...]:
        if task.id not in self._nodes:
            text = line_of(task.payload, self._hide)
            state = str(task.state)
            self._nodes[task.id] = {"id": task.id, "key": task.key, "state": state, "text": text, "after": task.after}
            self._names[task.id] = task.id
            if task.key is not None:
                self._names[task.key] = task.id
        return task.after
