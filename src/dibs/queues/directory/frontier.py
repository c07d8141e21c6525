"""The folder of files that is the queue. Nothing here writes to it.

A file is a task unless it is hidden, a back-up (`x~`) or a download under way (`x.tmp`, `x.part`), or was written to within
the settle time, by the file system's own clock: then somebody may still be copying it in.

`candidates` walks the tree a folder at a time and remembers folders in which everything is done: these are
not read again until one of their two sides (files, witnesses) changes.
"""

import os
import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

from dibs.queues.directory.names import id_of, is_ignored, path_of
from dibs.stores.refusal import refusals

QUIET_SECONDS = 3.0  # a folder changed so recently may change again without a new time stamp


class Source(NamedTuple):
    """A file as it was seen."""

    id: str
    path: str
    size: int
    mtime: float


class Frontier:
    def __init__(
        self, root: str, done: str, apart: tuple[str, ...], settle: float, now: Callable[[], float], rng: random.Random
    ) -> None:
        self.root = root
        self.done = done
        self._apart = {os.path.realpath(folder) for folder in apart}
        self._settle = settle
        self._now = now
        self._rng = rng
        self._quiet: dict[str, tuple[int, int]] = {}  # folder -> times of its two sides

    def source(self, task_id: str) -> Source | None:
        """The file of a task, settled or not."""
        path = self.path(task_id)
        try:
            found = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return Source(task_id, path, found.st_size, found.st_mtime) if os.path.isfile(path) else None

    def path(self, task_id: str) -> str:
        return f"{self.root}/{path_of(task_id)}"

    def witness(self, task_id: str) -> str:
        return f"{self.done}/{path_of(task_id)}"

    def is_done(self, task_id: str) -> bool:
        return os.path.isfile(self.witness(task_id))

    def settled(self, source: Source) -> bool:
        """A time stamp from the future is no sign of writing: writing sets it to now."""
        return abs(self._now() - source.mtime) >= self._settle

    def sources(self) -> Iterator[Source]:
        """Every file that is, or will be, a task."""
        for folder in self._folders():
            for name in sorted(self._files(folder)):
                source = self.source(id_of(folder + name))
                if source is not None:
                    yield source

    def candidates(self) -> Iterator[str]:
        """Ids of files without a witness; each folder from a random place on, so that workers do not run side by side."""
        for folder in self._folders():
            times = self._times(folder)
            if self._quiet.get(folder) == times:
                continue
            names = sorted(self._files(folder) - self._witnesses(folder))
            if not names and max(times) < (self._now() - QUIET_SECONDS) * 1e9:
                self._quiet[folder] = times
            start = self._rng.randrange(len(names)) if names else 0
            yield from (id_of(folder + name) for name in names[start:] + names[:start])

    def _folders(self, folder: str = "") -> Iterator[str]:
        """ "" and every folder below, as "a/b/"; links to folders are not followed."""
        yield folder
        for name in self._subfolders(folder):
            yield from self._folders(f"{folder}{name}/")

    def _subfolders(self, folder: str) -> list[str]:
        found = []
        for entry in self._scan(f"{self.root}/{folder}"):
            if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                if os.path.realpath(entry.path) not in self._apart:
                    found.append(entry.name)
        return sorted(found)

    def _files(self, folder: str) -> set[str]:
        entries = self._scan(f"{self.root}/{folder}")
        return {entry.name for entry in entries if not is_ignored(entry.name) and entry.is_file()}

    def _witnesses(self, folder: str) -> set[str]:
        return {entry.name for entry in self._scan(f"{self.done}/{folder}") if entry.is_file()}

    def _times(self, folder: str) -> tuple[int, int]:
        return self._time(f"{self.root}/{folder}"), self._time(f"{self.done}/{folder}")

    def _time(self, path: str) -> int:
        try:
            return os.stat(path).st_mtime_ns
        except (FileNotFoundError, NotADirectoryError):
            return 0

    def _scan(self, path: str) -> list[os.DirEntry[str]]:
        with refusals(path):
            try:
                with os.scandir(path) as entries:
                    return list(entries)
            except (FileNotFoundError, NotADirectoryError):
                return []
