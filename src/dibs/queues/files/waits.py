"""Dependencies: `after`.

A task waits in `blocked/` until everything it names is completed. For each name there is a pointer
`waits/<shard>/<dependency>/<task>`, written before the task, by which a completer finds who waited for
it. A key has one by its own name too: nobody may have it yet, or another task may have it later. Pointers
are hints: what counts is the state of the dependency, looked up. A failed or cancelled dependency keeps
its dependants blocked (retrying it frees them), and so does an unknown one (it may yet be pushed).
"""

from collections.abc import Callable, Iterable

from dibs.clock import Clock
from dibs.queues.files.fs import Fs
from dibs.queues.files.layout import Layout
from dibs.states import State
from dibs.task import Task, is_id

LOOK_SECONDS = 0.05


def pointed(ref: str) -> str:
    """The name of a dependency among the pointers: its id, or so much of the hash of its key."""
    if is_id(ref):
        return ref
    import hashlib  # only who waits for a key needs it

    return hashlib.sha256(ref.encode()).hexdigest()[:32]


class Waits:
    def __init__(
        self,
        fs: Fs,
        layout: Layout,
        clock: Clock,
        resolve: Callable[[str], str | None],
        state_of: Callable[[str], State | None],
    ) -> None:
        self._fs = fs
        self._layout = layout
        self._boottime = clock.boottime
        self._in_use = False
        self._looked = float("-inf")
        self._resolve = resolve
        self._state_of = state_of

    def in_use(self) -> bool:
        """False when no task of this queue waits for another; looked up at most twenty times a second."""
        now = self._boottime()
        if not self._in_use and now - self._looked >= LOOK_SECONDS:
            self._looked = now
            self._in_use = bool(self._fs.listdir(self._layout.folder("waits")))
        return self._in_use

    def write_pointers(self, task: Task) -> list[str]:
        """Returns the folders written to, for syncing."""
        folders = []
        for ref in task.after:
            known = ref if is_id(ref) else self._resolve(ref)  # for completers who do not know keys
            for name in {pointed(ref), known or pointed(ref)}:
                folder = self._layout.waits(name)
                self._write(folder, task.id)
                folders.append(folder)
                self._in_use = True
        return folders

    def _write(self, folder: str, task_id: str) -> None:
        while True:
            self._fs.mkdir(folder)
            try:
                return self._fs.write(f"{folder}/{task_id}", b"")
            except FileNotFoundError:
                continue  # a completer just removed the empty folder

    def standing(self, after: Iterable[str]) -> tuple[tuple[str, str], ...]:
        """Each reference with its state, or "unknown"."""
        return tuple((ref, self._state(ref) or "unknown") for ref in after)

    def met(self, after: Iterable[str]) -> bool:
        return all(self._state(ref) is State.COMPLETED for ref in after)

    def waiting_for(self, ref: str) -> list[str]:
        """Ids of the tasks that may be waiting for this one: its id, or its key."""
        folder = self._layout.waits(pointed(ref))
        if not self._fs.exists(folder):
            return []
        try:
            return [name for name in self._fs.listdir(folder) if is_id(name)]
        except FileNotFoundError:
            return []  # the last of them was freed at this moment

    def drop_pointer(self, ref: str, waiting: str) -> None:
        folder = self._layout.waits(pointed(ref))
        try:
            self._fs.unlink(f"{folder}/{waiting}")
            self._fs.rmdir(folder)
        except OSError:
            pass  # gone already, or more wait: pointers are only hints

    def _state(self, ref: str) -> State | None:
        task_id = ref if is_id(ref) else self._resolve(ref)
        return None if task_id is None else self._state_of(task_id)
