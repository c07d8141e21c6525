"""The compare-and-set of a file queue in a place where a contested rename lets two through: a rename under a marker.

A rename whose outcome is not known keeps its marker: it may yet arrive, and nobody may be at it then.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from dibs.clock import Clock
from dibs.queues.files.cells import Cells
from dibs.queues.files.fs import Fs
from dibs.queues.files.layout import Layout
from dibs.queues.files.markers import Hold, Markers
from dibs.states import Cell

FIRST_WAIT_SECONDS = 0.002
LONGEST_WAIT_SECONDS = 0.1
_SURELY_NOT = {
    errno.EACCES, errno.EDQUOT, errno.EISDIR, errno.ENAMETOOLONG, errno.ENOENT, errno.ENOSPC, errno.ENOTDIR,
    errno.EPERM, errno.EROFS, errno.EXDEV,
}  # fmt: skip


class MarkedCells(Cells):
    def __init__(self, fs: Fs, layout: Layout, clock: Clock, markers: Markers, *, sync: bool) -> None:
        super().__init__(fs, layout, sync=sync)
        self._clock = clock
        self._markers = markers
        self._own = layout.scratch("")

    def swap(self, task_id: str, facet: str, seen: Cell, cell: Cell) -> bool:
        return self.move(self._path(task_id, facet, seen), self._path(task_id, facet, cell))

    def move(self, source: str, target: str) -> bool:
        """Waits while another's step out of the same name is under way: for that of a dead one until it is stale."""
        wait = FIRST_WAIT_SECONDS
        while (moved := self.attempt(source, target)) is None:
            self._clock.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT_SECONDS)
        return moved

    def attempt(self, source: str, target: str) -> bool | None:
        if source.startswith(self._own):
            return super().move(source, target)  # a push: nobody else knows the name
        hold = self._markers.take(source)
        if hold is None:
            return None if self._fs.exists(source) else self._fs.exists(target)
        with self._dropping(hold):
            return self._step(hold, source, target)

    def remove(self, path: str) -> bool:
        hold = self._markers.take(path)
        if hold is None or not self._markers.in_time(hold):
            return False
        with self._dropping(hold):
            return super().remove(path)

    @contextmanager
    def _dropping(self, hold: Hold) -> Iterator[None]:
        over = True
        try:
            yield
        except OSError as error:
            over = error.errno in _SURELY_NOT
            raise
        finally:
            if over:
                self._markers.drop(hold)

    def _step(self, hold: Hold, source: str, target: str) -> bool | None:
        while self._markers.in_time(hold):
            try:
                self._rename(source, target)
                return True
            except OSError as error:
                if not self._fs.exists(source):
                    return self._fs.exists(target)
                if not isinstance(error, FileNotFoundError):
                    raise
            self.make_folder(target.rpartition("/")[0])
        return None  # we slept: others may hold the next marker already
