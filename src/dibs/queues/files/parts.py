"""What the pieces of one open file queue share."""

import errno
import os
import random
from functools import cached_property
from typing import TYPE_CHECKING

from dibs.clock import SYSTEM, Clock
from dibs.host import Host
from dibs.keys import Keys
from dibs.liveness import Watch
from dibs.queues.files.cells import Cells
from dibs.queues.files.finder import Finder
from dibs.queues.files.fs import Fs, LocalFs
from dibs.queues.files.known_facets import KnownFacets
from dibs.queues.files.layout import Layout
from dibs.queues.files.notes import Notes
from dibs.queues.files.root import Root
from dibs.states import State
from dibs.stores.store import Store
from dibs.values import dataclass

if TYPE_CHECKING:
    from dibs.queues.files.markers import Markers


@dataclass(frozen=True)
class Parts:
    fs: Fs
    clock: Clock
    host: Host
    rng: random.Random
    root: Root
    sync: bool
    store: Store | None = None  # for key cells; the queue's own folder unless given

    @cached_property
    def layout(self) -> Layout:
        return Layout(self.root.path, self.root.shards)

    @cached_property
    def cells(self) -> Cells:
        if self.markers is None:
            return Cells(self.fs, self.layout, sync=self.sync)
        from dibs.queues.files.marked import MarkedCells

        return MarkedCells(self.fs, self.layout, self.clock, self.markers, sync=self.sync)

    @cached_property
    def markers(self) -> "Markers | None":
        """Of a queue whose steps need them."""
        if self.root.steps != "marker":
            return None
        from dibs.queues.files.markers import Markers

        folders = Cells(self.fs, self.layout, sync=self.sync).make_folder
        return Markers(self.fs, self.layout, self.clock, self.host, self.rng, self.store_time, folders)

    @cached_property
    def finder(self) -> Finder:
        return Finder(self.fs, self.layout)

    @cached_property
    def facets(self) -> KnownFacets:
        return KnownFacets(self.fs, self.layout, sync=self.sync)

    @cached_property
    def notes(self) -> Notes:
        return Notes(self.fs, self.layout, self.clock, self.rng, self.cells.make_folder)

    @cached_property
    def watch(self) -> Watch:
        return Watch(self.host, self.clock)

    @cached_property
    def keys(self) -> Keys:
        store = self.store
        if store is None:
            from dibs.stores.shared import file_store  # only queues that use keys pay for it

            store = file_store(self.root.path, sync=self.sync, clock=self.clock)
        return Keys(store, clock=self.clock, rng=self.rng, host=self.host)

    def state_of(self, task_id: str) -> State | None:
        found = self.finder.locate(task_id)
        return None if found is None else found.state

    def lookup_key(self, key: str) -> str | None:
        """The id of the last task with this key."""
        return self.keys.lookup(key) if self.fs.exists(self.layout.folder("keys")) else None

    def store_time(self) -> float:
        """Now by the file server's clock; of a queue that may only be read, by this host's: good enough to show."""
        try:
            return self.fs.server_time(self.layout.scratch(f"{self.host.name}.clock"))
        except OSError as error:
            if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM):
                raise
            return self.clock.wall()

    def look_time(self) -> float:
        """The same for whoever only looks, and so leaves no trace: on a disk of this host it has this host's time. On a
        share it is asked for; where that fails, because it is full, this host's is good enough to show."""
        if self._near:
            return SYSTEM.wall()
        try:
            return self.store_time()
        except OSError:
            return self.clock.wall()

    @cached_property
    def _near(self) -> bool:
        from dibs.mounts import is_local  # only a queue in which something is scheduled needs it

        return type(self.fs) is LocalFs and is_local(self.root.path)

    def ring(self) -> None:
        """Tell idle workers that something became ready."""
        try:
            self.fs.server_time(self.layout.folder("bell"))
        except OSError:
            pass  # they will look by themselves within a second

    def bell(self) -> float | None:
        try:
            return self.fs.times(self.layout.folder("bell"))[0]
        except OSError:
            return None

    @staticmethod
    def process() -> int:
        return os.getpid()
