"""A folder of markdown specs as the queue, on the simulated disk and system.

What is kept of a task lies in three places: its file, its lock, the record of its past. The lock is the lock for all of
it: a step is done when it is gone, and until then it may be taken again.
"""

from collections.abc import Callable
from typing import Any

import dibs.queues.lockfiles.placing
import dibs.queues.lockfiles.recovery
import dibs.queues.specs.pages
import dibs.queues.specs.queue
from dibs.lease import Record, seen
from dibs.queues.lockfiles.limits import Limits
from dibs.queues.specs.ledger import KEPT
from dibs.queues.specs.pages import FilePages, Pages
from dibs.queues.specs.queue import SpecsQueue
from dibs.queues.specs.settings import Settings
from dibs.queues.specs.standing import ENDED
from dibs.specs.cache import Snapshot
from dibs.specs.listing import Listing
from dibs.specs.reading import parsed
from dibs.specs.spec import Spec, from_bytes
from dibs.specs.statuses import Status, state_of
from dibs.specs.view import LOCK
from dibs.states import TERMINAL, Cell, State
from dibs.stores.refusal import refusals
from dibs.stores.store import Entry

from .disk import Disk, File
from .files_store_backend import store_seams
from .machines import SimClock
from .system import System
from .truth import Truth
from .world import Process, Violation, World

FOLDER, LOCKS, SUFFIX = "/d/specs", "/d/locks", ".md"
_MODULES = (
    dibs.queues.lockfiles.placing,
    dibs.queues.lockfiles.recovery,
    dibs.queues.specs.pages,
    dibs.queues.specs.queue,
)


class SimSpecsQueue(SpecsQueue):
    """Lists the simulated folder; the real catalog is about speed."""

    def _make_pages(self, settings: Settings) -> tuple[Pages, Callable[[], Listing]]:
        pages = FilePages(settings.folder, f"{settings.locks}/tmp")

        def listing() -> Listing:
            with refusals(settings.folder), dibs.queues.specs.pages.os.scandir(settings.folder) as entries:
                names = sorted(entry.name for entry in entries if entry.name.endswith(SUFFIX))
            read = {name: pages._data(f"{settings.folder}/{name}") for name in names}
            return Listing(settings.folder, Snapshot.of({name: parsed(data) for name, data in read.items() if data}))

        return pages, listing


class SpecsBackend:
    retention = 0.0
    plain = True  # tasks have a payload, and nothing else

    def __init__(self, world: World, truth: Truth) -> None:
        rng = world.rng
        self._world = world
        self._truth = truth
        self.disk = Disk(world, FOLDER)
        self.disk.mkdir(LOCKS)
        self.disk.put(f"{LOCKS}/.gitignore", b"*\n")
        self.disk.moved = self._moved
        self._system = System(world, self.disk)
        runtime = rng.choice((None, None, None, world.weather.ttl * 1.5))
        limits = Limits(rng.choice((1, 2, 3)), rng.choice((1, 3, 8)), runtime, rng.choice((0.0, 1.0)), 60.0)
        self._settings = Settings(FOLDER, LOCKS, limits=limits)

    def in_the_way(self) -> list[Process]:
        return self._system.lockers()

    def seams(self) -> list[tuple[Any, str, Any]]:
        patches = store_seams(self._system)
        patches += [(module, "os", self._system) for module in _MODULES]
        patches += [(dibs.queues.specs.pages, "open", self._system.open_file)]
        return patches

    def open(self, process: Process, *, pid: int | None = None) -> SpecsQueue:
        return SimSpecsQueue(
            "specs:/d/specs",
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
                if folder == FOLDER and path == target and name.removesuffix(SUFFIX) not in self._truth.cells:
                    self._truth.change(name.removesuffix(SUFFIX), None, Cell(State.READY))
                elif folder == FOLDER and path == target:
                    self._saved(name.removesuffix(SUFFIX))
                elif folder == LOCKS and name.endswith(LOCK):
                    self._locked(name.removesuffix(LOCK))
            except Violation as violation:
                self._world.failed(violation)
                raise

    def _saved(self, task_id: str) -> None:
        priority = self._spec(task_id).priority
        if priority != self._truth.priorities[task_id][-1]:
            self._truth.prioritise(task_id, priority)

    def _locked(self, task_id: str) -> None:
        before, lease = self._truth.cells[task_id], self._record(LOCKS, task_id + LOCK)
        if lease is not None and lease.cell == before:
            return  # renewed
        after = self._standing(task_id)
        if before == after:
            return
        if before.state is State.SCHEDULED and before.due <= self._world.now and after.state is not State.SCHEDULED:
            ready = Cell(State.READY, *before[1:4])
            self._truth.change(task_id, before, ready)
            before = ready
        if before != after:
            self._truth.change(task_id, before, after)

    def _standing(self, task_id: str) -> Cell:
        """As the queue's own readers put it together."""
        kept = self._record(f"{LOCKS}/{KEPT}", f"{task_id}.json")
        past = kept.cell if kept else Cell(State.READY)
        lease, spec = self._record(LOCKS, task_id + LOCK), self._spec(task_id)
        if lease is not None and lease.cell.epoch > past.epoch and spec.status not in ENDED:
            return lease.cell  # else it is no lease yet: its claimer has still to look again
        if spec.status in ENDED and past.state in TERMINAL:
            return past
        if spec.status in ENDED and lease is not None:
            return self._truth.cells[task_id]  # its step is done when the lock is gone
        if spec.status in ENDED:
            return Cell(state_of(spec.status), past.epoch, spec.attempts, past.deaths)
        due = spec.not_before or 0.0
        waits = due > self._world.now and spec.status is Status.PENDING
        state = State.SCHEDULED if waits else State.READY
        deaths = 0 if past.state in TERMINAL else past.deaths
        return Cell(state, past.epoch, spec.attempts, deaths, "", due if waits else 0.0)

    def _spec(self, task_id: str) -> Spec:
        file = self.disk.folders[FOLDER][task_id + SUFFIX]
        assert isinstance(file, File)
        return from_bytes(task_id, "", file.data)

    def _record(self, folder: str, name: str) -> Record | None:
        file = self.disk.folders.get(folder, {}).get(name)
        return seen(Entry(file.data, "")).record if isinstance(file, File) and file.data else None
