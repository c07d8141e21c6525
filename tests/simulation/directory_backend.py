"""A folder of files as the queue, on the simulated disk and system.

What is kept of a task lies in three places: its lease file, the record of its past, its witness. The lease file is the
lock for all of it: a step is done when it is gone, and until then it may be taken again.
"""

from typing import Any

import dibs.queues.directory.frontier
import dibs.queues.directory.looks
import dibs.queues.directory.names
import dibs.queues.directory.pushing
import dibs.queues.directory.queue
import dibs.queues.directory.steps
import dibs.queues.lockfiles.placing
import dibs.queues.lockfiles.recovery
from dibs.lease import Record, seen
from dibs.queues.directory.queue import DirectoryQueue
from dibs.queues.directory.settings import Settings
from dibs.queues.lockfiles.limits import Limits
from dibs.queues.lockfiles.past import ALL
from dibs.states import Cell, State
from dibs.stores.sealed import record
from dibs.stores.store import Entry

from .disk import Disk, File
from .files_store_backend import store_seams
from .machines import SimClock
from .system import System
from .truth import Truth
from .world import Process, Violation, World

FOLDER, DONE, LEASES = "/f", "/f.done", "/f.leases"
SUFFIX = ".lease"
_MODULES = (
    dibs.queues.directory.frontier,
    dibs.queues.directory.looks,
    dibs.queues.directory.names,
    dibs.queues.lockfiles.placing,
    dibs.queues.directory.queue,
    dibs.queues.lockfiles.recovery,
    dibs.queues.directory.steps,
)
_OPENERS = (dibs.queues.directory.pushing, dibs.queues.directory.steps)


class DirectoryBackend:
    retention = 0.0
    plain = True  # tasks have a payload, and nothing else
    system_class: type[System] = System

    def __init__(self, world: World, truth: Truth) -> None:
        rng = world.rng
        self._world = world
        self._truth = truth
        self.disk = Disk(world, FOLDER)
        self.disk.mkdir(LEASES)
        self.disk.moved = self._moved
        self._system = self.system_class(world, self.disk)
        runtime = rng.choice((None, None, None, world.weather.ttl * 1.5))
        limits = Limits(rng.choice((1, 2, 3)), rng.choice((1, 3, 8)), runtime, rng.choice((0.0, 1.0)), 60.0)
        self._settings = Settings(FOLDER, DONE, LEASES, 1.0, limits)
        self._claimers: dict[tuple[str, int], object] = {}

    def in_the_way(self) -> list[Process]:
        return self._system.lockers()

    def seams(self) -> list[tuple[Any, str, Any]]:
        patches = store_seams(self._system)
        patches += [(module, "os", self._system) for module in _MODULES]
        patches += [(module, "open", self._system.open_file) for module in _OPENERS]
        return patches

    def open(self, process: Process, *, pid: int | None = None) -> DirectoryQueue:
        return DirectoryQueue(
            "dir:/f",
            self._settings,
            clock=SimClock(self._world, process.host),
            host=process.host,
            rng=self._world.rng,
            pid=pid,
            process=lambda: process.pid,
        )

    def _moved(self, source: str, target: str, data: bytes) -> None:
        for path in (source, target):
            folder, _, name = path.rpartition("/")
            try:
                if folder == FOLDER and path == target and not name.startswith("."):
                    self._truth.change(name, None, Cell(State.READY))
                elif folder == LEASES and name.endswith(SUFFIX):
                    self._leased(name.removesuffix(SUFFIX))
            except Violation as violation:
                self._world.failed(violation)
                raise

    def _leased(self, task_id: str) -> None:
        before, lease = self._truth.cells[task_id], self._record(LEASES, task_id + SUFFIX)
        if lease is not None and lease.cell == before:
            return  # renewed
        after = self._standing(task_id)
        if before == after:
            return
        if before.state is State.SCHEDULED and before.due <= self._world.now and after.state is not State.SCHEDULED:
            ready = Cell(State.READY, *before[1:4])
            self._truth.change(task_id, before, ready)
            before = ready
        if before == after:
            return
        if after.state is State.CLAIMED and before.state not in (State.READY, State.CLAIMED):
            return  # the same: it is completed, or not due
        if before.state is State.CLAIMED and after.epoch < before.epoch:
            self._unclaim(task_id, before, after)
            return
        if after.state is State.CLAIMED:
            self._claimers[task_id, after.epoch] = self._world.current
        self._truth.change(task_id, before, after)

    def _unclaim(self, task_id: str, before: Cell, after: Cell) -> None:
        """A claimer looks again once it has the lease, and may give it back before anybody was told of it."""
        if self._claimers[task_id, before.epoch] is not self._world.current:
            raise Violation("illegal step", f"task {task_id}: epoch {before.epoch} was taken back by another")
        self._truth.undo_claim(task_id, after)

    def _standing(self, task_id: str) -> Cell:
        """As the queue's own readers put it together."""
        pasts = [found for folder in ALL if (found := self._record(f"{LEASES}/{folder}", f"{task_id}.json"))]
        past = max(pasts, key=lambda record: int(record.data["turn"])).cell if pasts else Cell(State.READY)
        lease = self._record(LEASES, task_id + SUFFIX)
        if lease is not None and lease.cell.epoch > past.epoch and past.state not in (State.CANCELLED, State.FAILED):
            return lease.cell  # else it is no lease yet: its claimer has still to look again
        if task_id not in self.disk.folders.get(DONE, ()):
            return past
        if past.state is State.COMPLETED:
            return past
        known = self._truth.cells[task_id]  # a witness alone, of a completion that broke off: it says who
        held = known.state is State.CLAIMED and known.epoch == past.epoch
        return known._replace(state=State.COMPLETED) if held else Cell(State.COMPLETED, past.epoch)

    def _record(self, folder: str, name: str) -> Record | None:
        file = self.disk.folders.get(folder, {}).get(name)
        data = record(file.data) if isinstance(file, File) else b""
        return seen(Entry(data, "")).record if data else None
