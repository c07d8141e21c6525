"""The compare-and-set of a file queue: one rename from exactly the name that was seen.

A task is always exactly one file, so none can be lost or doubled, whatever dies when. A rename whose
answer was lost (network file systems) is settled by looking for its target, which names
whoever took the step and so cannot be another's.
"""

from collections.abc import Callable

from dibs.errors import StorageError
from dibs.queues.files.fs import Fs
from dibs.queues.files.layout import Layout
from dibs.states import Cell


class Cells:
    def __init__(self, fs: Fs, layout: Layout, *, sync: bool) -> None:
        self._fs = fs
        self._rename: Callable[[str, str], None] = fs.rename
        self.layout = layout
        self.sync = sync

    def swap(self, task_id: str, facet: str, seen: Cell, cell: Cell) -> bool:
        """True when the task went from `seen` to `cell`; False when it was no longer at `seen`."""
        path = self.layout.path
        return self.move(path(task_id, facet, seen), path(task_id, facet, cell))

    def move(self, source: str, target: str) -> bool:
        try:
            self._rename(source, target)
            return True
        except FileNotFoundError:
            return self._settle(source, target)
        except OSError:
            if self._fs.exists(target) and not self._fs.exists(source):
                return True
            raise

    def _settle(self, source: str, target: str) -> bool:
        while self._fs.exists(source):  # then it is the target's folder that is missing
            self.make_folder(target.rpartition("/")[0])
            try:
                self._rename(source, target)
                return True
            except FileNotFoundError:
                continue  # the source was taken, or the empty folder tidied away again
        return self._fs.exists(target)

    def make_folder(self, folder: str) -> None:
        if not self._fs.exists(self.layout.folder("dibs.json")):
            raise StorageError(
                f"queue {self.layout.root}: its folder is gone; restore it, or push again to create a new queue"
            )
        self._fs.mkdir(folder)
        if self.sync:
            above = folder.rpartition("/")[0]
            while above.startswith(self.layout.root):
                self._fs.sync_folder(above)
                above = above.rpartition("/")[0]
