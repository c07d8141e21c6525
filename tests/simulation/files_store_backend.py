"""The queue over a store of plain files, on the simulated disk and system."""

import itertools
from typing import Any

import dibs.stores.anew
import dibs.stores.filelock
import dibs.stores.files
import dibs.stores.refusal
import dibs.stores.shared
import dibs.stores.syncing
from dibs.queues.stored.queue import StoredQueue
from dibs.stores.files import FileStore

from .disk import Disk
from .machines import SimClock
from .stored_backend import StoredBackend
from .system import System
from .truth import Truth
from .world import Process, World

ROOT = "/s"
TOLD = ("/s/tasks/", "/s/pending/")
STORE_MODULES = (dibs.stores.files, dibs.stores.anew, dibs.stores.filelock, dibs.stores.syncing, dibs.stores.refusal)


class FileStoreBackend(StoredBackend):
    far = False

    def __init__(self, world: World, truth: Truth) -> None:
        super().__init__(world, truth)
        self.disk = Disk(world, ROOT)
        self.disk.moved = self._moved
        self._system = System(world, self.disk)
        self._data: dict[str, bytes] = {}
        self._sync = world.random() < 0.1

    def in_the_way(self) -> list[Process]:
        return self._system.lockers()

    def seams(self) -> list[tuple[Any, str, Any]]:
        return store_seams(self._system)

    def open(self, process: Process, *, pid: int | None = None) -> StoredQueue:
        clock = SimClock(self._world, process.host)
        return self.queue_class(
            "sim:q",
            FileStore(ROOT, clock=clock, sync=self._sync),
            clock=clock,
            host=process.host,
            rng=self._world.rng,
            pid=pid,
            process=lambda: process.pid,
            retention=self.retention,
        )

    def _moved(self, source: str, target: str, data: bytes) -> None:
        if source.startswith(TOLD):
            self._changed(source[3:], self._data.pop(source, None), None)
        if target.startswith(TOLD):
            before = self._data.get(target)
            self._data[target] = data
            self._changed(target[3:], before, data)


def store_seams(system: System) -> list[tuple[Any, str, Any]]:
    patches: list[tuple[Any, str, Any]] = [(module, "os", system) for module in STORE_MODULES]
    files = dibs.stores.files
    patches += [
        (dibs.stores.filelock, "fcntl", system),
        (files, "open", system.open_file),
        (files, "_serial", itertools.count()),
    ]
    patches += [(dibs.stores.shared, "on_share", lambda root: False)]
    return patches
