"""The queue over any store, on the simulated store, with its changes told to the truth."""

from dibs.lease import seen
from dibs.queues.stored.layout import parse_marker
from dibs.queues.stored.queue import StoredQueue
from dibs.states import Cell, State
from dibs.stores.store import Entry
from dibs.task import decode

from .cloud import Cloud, SimStore
from .machines import SimClock
from .truth import Truth
from .world import Process, Violation, World

UNTOUCHED = Cell(State.READY)


class StoredBackend:
    queue_class: type[StoredQueue] = StoredQueue
    store_class: type[SimStore] = SimStore
    far = True

    def __init__(self, world: World, truth: Truth) -> None:
        self._world = world
        self._truth = truth
        self.cloud = Cloud(world)
        world.doubles = self.far
        self.cloud.changed = self._changed
        self._seeds: set[str] = set()
        self._void: set[str] = set()
        self._touched: set[str] = set()
        self.retention = world.rng.choice((0.0, 0.0, 600.0))

    def open(self, process: Process, *, pid: int | None = None) -> StoredQueue:
        """A queue object as that process would open it."""
        return self.queue_class(
            "sim:q",
            self.store_class(self._world, self.cloud, process),
            clock=SimClock(self._world, process.host),
            host=process.host,
            rng=self._world.rng,
            pid=pid,
            process=lambda: process.pid,
            retention=self.retention,
        )

    def _changed(self, name: str, before: bytes | None, after: bytes | None) -> None:
        try:
            if name.startswith("tasks/"):
                self._cell_changed(name.rpartition("/")[2], before, after)
            elif name.startswith("pending/") and (marker := parse_marker(name)) is not None and marker.seed:
                self._seed_changed(marker.id, before, after)
        except Violation as violation:
            self._world.failed(violation)
            raise

    def _seed_changed(self, task_id: str, before: bytes | None, after: bytes | None) -> None:
        if after is None:
            self._seeds.discard(task_id)
            if task_id not in self._touched and task_id in self._truth.cells:
                self._truth.change(task_id, UNTOUCHED, None)
        elif before is None:
            self._seeds.add(task_id)
            if task_id not in self._truth.cells:  # else its push arrived a second time, to no effect
                self._truth.change(task_id, None, UNTOUCHED, decode(after))

    def _cell_changed(self, task_id: str, before: bytes | None, after: bytes | None) -> None:
        was, now = _cell(before), _cell(after)
        (self._touched.discard if after is None else self._touched.add)(task_id)
        if before is None and task_id in self._seeds:
            was = UNTOUCHED
        elif task_id in self._void or (before is None and self._truth.known(task_id)):
            # A first step of one who slept until the task was purged. It must be told to nobody, and is undone.
            if before is not None and now is not None:
                raise Violation("risen", f"task {task_id} is over and purged, and goes on as {now}")
            (self._void.discard if after is None else self._void.add)(task_id)
            return
        priority = _priority(after)
        changed = was is not None and priority not in (None, self._truth.priorities[task_id][-1])
        if changed and was == now:
            self._truth.prioritise(task_id, priority or 0)
        elif changed and now is not None:
            raise Violation("illegal step", f"task {task_id} got priority {priority} with another step")
        elif was != now:
            pushed = was is None and after is not None
            self._truth.change(task_id, was, now, seen(Entry(after or b"", "")).record.data["task"] if pushed else None)


def _priority(data: bytes | None) -> int | None:
    """None where the cell does not say it: its seed does."""
    task = None if data is None else seen(Entry(data, "")).record.data.get("task")
    return None if task is None else task.get("priority", 50)


def _cell(data: bytes | None) -> Cell | None:
    """None also for a cell that is marked as purged: as good as gone."""
    record = None if data is None else seen(Entry(data, "")).record
    return None if record is None or record.data.get("purged") else record.cell
