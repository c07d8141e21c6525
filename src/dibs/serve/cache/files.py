"""What a `file:` queue shows, from remembered listings and tasks. As fresh as without: each folder and each task that
is shown is looked at (a `stat`), though not read again."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from dibs.clock import SYSTEM, Clock
from dibs.facets import EVERYTHING, Filter, make_filter
from dibs.queues.files import looks
from dibs.queues.files.due import next_due, once
from dibs.queues.files.finder import SAMPLE, Finder, Found
from dibs.queues.files.fs import storage_error
from dibs.queues.files.layout import Layout, parse_name
from dibs.queues.files.queue import FilesQueue
from dibs.queues.queue import ended_state
from dibs.queues.views import Claim, Stats
from dibs.serve.cache.dated import Dated
from dibs.serve.cache.folders import MOST_FOLDERS, KnownFolders, Stamp, settled
from dibs.specs.cache import STAMP
from dibs.states import State
from dibs.task import Task
from dibs.values import replace

MOST_TASKS = 5_000
LARGEST_BYTES = 4096  # of a task that is remembered
MOST_LOTS = 64
Listed = list[tuple[str, list[str]]]  # folders, each with its names
Lot = list[tuple[str, str]]  # name, folder
_UNSEEN: Any = object()
Inside = tuple[list[str], list[str]]  # the names in a folder, and the paths of those that are ours


class KnownFinder(Finder):
    def __init__(self, layout: Layout, clock: Clock = SYSTEM) -> None:
        self.folders_known = KnownFolders(clock)
        super().__init__(self.folders_known, layout)
        self._clock = clock
        self._tasks: dict[tuple[str, State], tuple[Stamp, Task]] = {}
        self._sorted: dict[tuple[str, ...], tuple[Listed, Lot]] = {}
        self._found: dict[tuple[str, str], Found | None] = {}
        self._ours: dict[str, Inside] = {}
        self._dated = Dated()
        self._counted: dict[str, tuple[list[str], Counter[str]]] = {}

    def find(self, state: State, wanted: Filter = EVERYTHING) -> Iterator[Found]:
        for group in self._groups(state):
            for folders in group:
                for one in self._lot(folders):
                    found = self._found.get(one, _UNSEEN)
                    if found is _UNSEEN:
                        found = self._parsed(state, one)
                    if found is not None and (wanted is EVERYTHING or wanted(self.facet(found.name.facet))):
                        yield found

    def newest(self, state: State, wanted: Filter) -> Iterator[Found]:
        """What ended last first, of a state that is over."""
        listed = [(folder, self._list(folder)) for folder in self.folders(state)]
        for one in self._dated.newest(listed):
            found = self._found.get(one, _UNSEEN)
            if found is _UNSEEN:
                found = self._parsed(state, one)
            if found is not None and (wanted is EVERYTHING or wanted(self.facet(found.name.facet))):
                yield found

    def _groups(self, state: State) -> Iterator[Iterator[Listed]]:  # type: ignore[override]
        return super()._groups(state)  # type: ignore[return-value]  # of what `_lots` gives here

    def _lots(self, folders: list[str]) -> Iterator[Listed]:  # type: ignore[override]
        """With what is in each, so that nobody has to look again."""
        lot: Listed = []
        size = 0
        for folder in folders:
            names = self._list(folder)
            lot.append((folder, names))
            size += len(names)
            if size >= SAMPLE:
                yield lot
                lot, size = [], 0
        if lot:
            yield lot

    def _parsed(self, state: State, one: tuple[str, str]) -> Found | None:
        text, folder = one
        name = parse_name(text, state)
        found = None if name is None else Found(state, f"{folder}/{text}", name)
        if len(self._found) >= MOST_TASKS:
            self._found.clear()
        self._found[one] = found
        return found

    def read(self, found: Found) -> Task:
        stat = os.stat(found.path)
        stamp: Stamp = STAMP(stat)
        known = self._tasks.get((found.path, found.state))
        if known is not None and known[0] == stamp:
            return known[1]
        now = self._clock.wall()
        task = super().read(found)
        if settled(stat, now) and stat.st_size <= LARGEST_BYTES:
            if len(self._tasks) >= MOST_TASKS:
                self._tasks.clear()
            self._tasks[found.path, found.state] = (stamp, task)
        return task

    def _lot(self, listed: Listed) -> Lot:
        """The names in order: sorted again only when a folder was listed again."""
        key = tuple([folder for folder, _ in listed])
        known = self._sorted.get(key)
        if known is not None and all(map(_same, known[0], listed)):
            return known[1]
        lot = sorted((text, folder) for folder, names in listed for text in names)
        if len(self._sorted) >= MOST_LOTS:
            self._sorted.clear()
        self._sorted[key] = (listed, lot)
        return lot

    def inside(self, folder: str, ours: Callable[[str], object]) -> list[str]:
        names = self._list(folder)
        known = self._ours.get(folder)
        if known is not None and known[0] is names:
            return known[1]
        paths = [f"{folder}/{name}" for name in sorted(filter(ours, names))]
        if len(self._ours) >= MOST_FOLDERS:
            self._ours.clear()
        self._ours[folder] = (names, paths)
        return paths

    def _tails(self, folder: str) -> Counter[str]:
        names = self._list(folder)
        known = self._counted.get(folder)
        if known is not None and known[0] is names:
            return known[1]
        counts = Counter(text[32:] for text in names)
        if len(self._counted) >= MOST_FOLDERS:
            self._counted.clear()
        self._counted[folder] = (names, counts)
        return counts


def _same(one: tuple[str, list[str]], other: tuple[str, list[str]]) -> bool:
    return one[1] is other[1]


class KnownFiles:
    lasting = True

    def __init__(self, queue: FilesQueue) -> None:
        self._queue = queue
        self.root = queue.root
        self.finder = KnownFinder(queue._parts.layout)
        self.folders = self.finder.folders_known
        self.now = queue._parts.look_time

    def tasks(
        self,
        state: str | None = None,
        *,
        project: str | None = None,
        labels: Iterable[str] = (),
        limit: int | None = None,
    ) -> Iterator[Task]:
        try:
            yield from looks.tasks(self.finder, state, make_filter(project, labels), limit, self.now)
        except OSError as error:
            raise storage_error(error, f"cannot list {self._queue.root}") from error

    def newest(
        self, state: str, *, project: str | None = None, labels: Iterable[str] = (), limit: int | None = None
    ) -> Iterator[Task]:
        found = self.finder.newest(ended_state(state), make_filter(project, labels))
        try:
            yield from looks.shown(self.finder, found, limit)
        except OSError as error:
            raise storage_error(error, f"cannot list {self._queue.root}") from error

    def stats(self) -> Stats:
        try:
            return replace(self.finder.stats(self.now), paused=self._queue.paused)
        except OSError as error:
            raise storage_error(error, f"cannot count {self._queue.root}") from error

    def holds_until(self) -> float:
        """When a list will be another one though no file has changed: the next task is due then."""
        return next_due(self.finder, once(self.now))

    def wall(self) -> float:
        return self._queue.clock.wall()

    def claimed(self) -> list[Claim]:
        return self._queue.claimed()
