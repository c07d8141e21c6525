"""The queue over any store, on the simulated store, with its changes told to the truth."""

from dibs.lease import seen
from dibs.queues.stored.queue import StoredQueue
from dibs.states import Cell
from dibs.stores.store import Entry

from .cloud import Cloud, SimStore
from .machines import SimClock
from .truth import Truth
from .world import Process, Violation, World


class StoredBackend:
    queue_class: type[StoredQueue] = StoredQueue
    store_class: type[SimStore] = SimStore

    def __init__(self, world: World, truth: Truth) -> None:
        self._world = world
        self._truth = truth
        self.cloud = Cloud(world)
        self.cloud.changed = self._changed
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
        if not name.startswith("tasks/"):
            return
        was, now = _cell(before), _cell(after)
        if was == now:
            return
        task_id = name.rpartition("/")[2]
        try:
            pushed = before is None and after is not None
            self._truth.change(task_id, was, now, seen(Entry(after or b"", "")).record.data["task"] if pushed else None)
        except Violation as violation:
            self._world.failed(violation)
            raise


def _cell(data: bytes | None) -> Cell | None:
    """None also for a cell that is marked as purged: as good as gone."""
    record = None if data is None else seen(Entry(data, "")).record
    return None if record is None or record.data.get("purged") else record.cell
