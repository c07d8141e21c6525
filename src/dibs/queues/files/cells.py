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
        self._path = layout.path
        self.sync = sync

    def swap(self, task_id: str, facet: str, seen: Cell, cell: Cell) -> bool:
        """True when the task went from `seen` to `cell`; False when it was no longer at `seen`."""
        path = self._path
        source, target = path(task_id, facet, seen), path(task_id, facet, cell)
        try:
            self._rename(source, target)
            return True
        except OSError as error:
            return self._settle(source, target, error)

    def move(self, source: str, target: str) -> bool:
        """The same by path, for who has it at hand."""
        try:
            self._rename(source, target)
            return True
        except OSError as error:
            return self._settle(source, target, error)

    def attempt(self, source: str, target: str) -> bool | None:
        """The same, for who has other things to do than wait: None while another's step is under way, see `marked`."""
        return self.move(source, target)

    def remove(self, path: str) -> bool:
        """Delete a task that has ended; False when it is not there any more, or on its way."""
        try:
            self._fs.unlink(path)
            return True
        except FileNotFoundError:
            return False

    def _settle(self, source: str, target: str, error: OSError) -> bool:
        """Refused, not there any more, no folder to go to, or done with its answer lost?"""
        while self._fs.exists(source):
            if not isinstance(error, FileNotFoundError):
                raise error
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
        above, _, shard = folder.rpartition("/")
        if above.startswith(self.layout.folder("pending/")):  # its tasks will go through these, in a hurry
            self._fs.mkdir(self.layout.folder(f"leased/{shard}"))
            self._fs.mkdir(self.layout.folder(f"completed/{shard}"))

    def sync_folders(self, folder: str) -> None:
        """Make what is in a folder durable, and the folder itself: who made it may not have synced it yet."""
        while folder.startswith(self.layout.root):
            self._fs.sync_folder(folder)
            folder = folder.rpartition("/")[0]
