"""Push: the key's cell, what the task leans on, the task, its marker; then the key is confirmed.

A task whose push broke off has no marker and never runs; if it has a key, the next push of that key finds it,
makes the marker, and says that it is the one.
"""

from collections.abc import Callable, Iterator

from dibs.errors import BadInput
from dibs.facets import facet_of
from dibs.keys import Keys
from dibs.queues.stored.cells import Cells, parted
from dibs.queues.stored.known_facets import KnownFacets
from dibs.queues.stored.lanes import Lanes
from dibs.queues.stored.waits import Waits
from dibs.states import LIVE, Cell, State
from dibs.task import Task
from dibs.values import replace


class Pusher:
    def __init__(
        self,
        cells: Cells,
        keys: Keys,
        waits: Waits,
        facets: KnownFacets,
        withdraw: Callable[[str], None],
        make_id: Callable[[], str],
    ) -> None:
        self._cells = cells
        self._lanes = Lanes(cells.store.lanes)
        self._keys = keys
        self._waits = waits
        self._facets = facets
        self._withdraw = withdraw
        self._make_id = make_id

    def push(self, tasks: list[Task], now: float) -> list[Task]:
        payloads = {task.id: _checked(task) for task in tasks}
        owners = self._keys.acquire_many(tasks, self.find)
        left = {task.id: task for task in tasks if owners.get(task.id, task.id) == task.id}
        pushed: dict[str, Task] = {}
        try:
            for task_id, placed in self._placed(list(left.values()), payloads, now):
                pushed[task_id] = placed
                del left[task_id]
        finally:
            for task in left.values():  # not placed, because of an error
                if task.key is not None:
                    self._keys.close(task.key, task.id, State.CANCELLED)
        return [pushed[task.id] if task.id in pushed else self._existing(owners[task.id], task) for task in tasks]

    def _placed(self, tasks: list[Task], payloads: dict[str, bytes | None], now: float) -> Iterator[tuple[str, Task]]:
        """Each task asked for, by id, with the one that it has become."""
        lanes = Lanes(1) if any(task.key for task in tasks) else self._lanes  # what broke off frees its key, in order
        return lanes.each(lambda task: (task.id, self._place(task, payloads[task.id], now)), tasks)

    def find(self, task_id: str) -> State | None:
        """A task's state, with its marker made sure of: to say that a key is taken is to promise that it will run."""
        try:
            known = self._cells.read(task_id)
        except BadInput:
            return State.FAILED
        if known is None:
            return None
        if known.body.move <= 1 and known.cell.state in LIVE:
            self._cells.ensure_marker(known)
        return known.cell.state

    def _place(self, task: Task, payload: bytes | None, now: float) -> Task:
        self._facets.register(facet_of(task))
        self._waits.point(task)
        placed = self._cells.push(task, _first_cell(task, now), payload).task
        if task.key is not None and self._keys.confirm(task.key, task.id) not in (None, task.id):
            self._withdraw(task.id)
            return self.push([replace(task, id=self._make_id())], now)[0]
        return placed if placed.payload is task.payload else replace(placed, payload=task.payload)

    def _existing(self, task_id: str, asked: Task) -> Task:
        known = self._cells.read(task_id)
        if known is None:
            return replace(asked, id=task_id, duplicate=True)  # purged a moment ago
        return replace(self._cells.whole(known), duplicate=True)


def _checked(task: Task) -> bytes | None:
    """The payload, if it is to be kept apart. BadInput before anything is written."""
    if task.key is not None and task.key in task.after:
        raise BadInput(f"task with key {task.key!r} is to run after itself; remove it from `after`")
    return parted(task)


def _first_cell(task: Task, now: float) -> Cell:
    if task.after:
        return Cell(State.BLOCKED)
    if task.not_before is not None and task.not_before > now:
        return Cell(State.SCHEDULED, due=task.not_before)
    return Cell(State.READY)
