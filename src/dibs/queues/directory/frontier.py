"""The folder of files that is the queue. Nothing here writes to it.

A file is a task unless it is hidden, a back-up (`x~`) or a download under way (`x.tmp`, `x.part`), or was written to
within the settle time, by the file system's own clock: then somebody may still be copying it in.

`candidates` walks the tree a folder at a time, and remembers folders in which little is left to do: these are
not read again until one of their two sides (files, witnesses) changes.
"""

import os
import random
import stat
from collections.abc import Callable, Iterator
from typing import NamedTuple

from dibs.queues.directory.names import id_of, is_ignored, path_of
from dibs.stores.anew import NOT_THERE, stat_anew
from dibs.stores.refusal import refusals, storage_error

AGAIN_SECONDS = 60.0  # a listing may be older than the times beside it, where folders are remembered by a client
QUIET_SECONDS = 3.0  # a folder changed so recently may change again without a new time stamp
MANY = 1000


class Source(NamedTuple):
    """A file as it was seen."""

    id: str
    path: str
    size: int
    mtime: float


class Looked(NamedTuple):
    """A folder as it was read: of use again as long as the times of its two sides are the same, and not for ever."""

    at: float
    times: tuple[int, int]
    folders: list[str]
    left: list[str]  # files without a witness


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
        self._looked: dict[str, Looked] = {}

    def source(self, task_id: str) -> Source | None:
        """The file of a task, settled or not."""
        path = self.path(task_id)
        try:
            found = os.stat(path)
        except OSError as error:
            if error.errno in NOT_THERE:
                return None
            raise storage_error(error, path) from error
        return Source(task_id, path, found.st_size, found.st_mtime) if stat.S_ISREG(found.st_mode) else None

    def path(self, task_id: str) -> str:
        return f"{self.root}/{path_of(task_id)}"

    def witness(self, task_id: str) -> str:
        return f"{self.done}/{path_of(task_id)}"

    def is_done(self, task_id: str) -> bool:
        """Raises when it cannot be known: what is done must not run again because a disk did not answer."""
        try:
            found = stat_anew(self.witness(task_id), self.done)
        except OSError as error:
            raise storage_error(error, self.done) from error
        return found is not None and stat.S_ISREG(found.st_mode)

    def settles_at(self, source: Source) -> float | None:
        """When it will be a task, if it is none yet. A time stamp from the future is no sign of writing:
        writing sets it to now."""
        due = source.mtime + self._settle
        return due if abs(self._now() - source.mtime) < self._settle else None

    def files(self) -> Iterator[tuple[str, bool]]:
        """(id, has a witness) of every file that is, or will be, a task."""
        for folder, _ in self._walk():
            witnesses = self._witnesses(folder)
            for name in sorted(self._files(self._scan(folder))):
                yield id_of(folder + name), name in witnesses

    def candidates(self) -> Iterator[str]:
        """Ids of files without a witness; in each folder from a random one on, so that workers do not run side by
        side."""
        for folder, looked in self._walk():
            names = looked.left
            start = self._rng.randrange(len(names)) if names else 0
            yield from (id_of(folder + name) for name in names[start:] + names[:start])

    def _walk(self) -> Iterator[tuple[str, Looked]]:
        """ "" and every folder below, as "a/b/"."""
        left = [""]
        while left:
            folder = left.pop()
            looked = self._look(folder)
            yield folder, looked
            left += [f"{folder}{name}/" for name in reversed(looked.folders)]

    def _look(self, folder: str) -> Looked:
        times = (_time(f"{self.root}/{folder}"), _time(f"{self.done}/{folder}"))
        known = self._looked.get(folder)
        if known is not None and known.times == times and 0 <= self._now() - known.at < AGAIN_SECONDS:
            return known
        entries = self._scan(folder)
        folders = sorted(entry.name for entry in entries if self._is_folder(entry))
        left = sorted(self._files(entries) - self._witnesses(folder))
        now = self._now()
        looked = Looked(now, times, folders, left)
        if max(times) < (now - QUIET_SECONDS) * 1e9 and len(left) <= MANY:
            self._looked[folder] = looked
        return looked

    def _is_folder(self, entry: os.DirEntry[str]) -> bool:
        """Links to folders are not followed."""
        if entry.name.startswith(".") or not entry.is_dir(follow_symlinks=False):
            return False
        return os.path.realpath(entry.path) not in self._apart

    def _files(self, entries: list[os.DirEntry[str]]) -> set[str]:
        return {entry.name for entry in entries if not is_ignored(entry.name) and _is_file(entry)}

    def _scan(self, folder: str) -> list[os.DirEntry[str]]:
        path = f"{self.root}/{folder}"
        with refusals(path):
            try:
                with os.scandir(path) as entries:
                    return list(entries)
            except (FileNotFoundError, NotADirectoryError, PermissionError):
                if not folder:
                    raise
                return []  # removed while we walked, or not for us (lost+found)

    def _witnesses(self, folder: str) -> set[str]:
        with refusals(self.done):
            try:
                with os.scandir(f"{self.done}/{folder}") as entries:
                    return {entry.name for entry in entries if _is_file(entry)}
            except (FileNotFoundError, NotADirectoryError, PermissionError):
                return set()


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False  # a link to where we may not look


def _time(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
