"""Push: written aside, synced, renamed in, synced. When it returns, the tasks survive a power cut.

One sync call per file for a few tasks; for more, two syncs of the whole file system per batch, however large.
What a task leans on (key cell, facet, pointers of its dependencies) is on disk before the task is.
"""

from dibs.errors import BadInput, StorageError
from dibs.facets import facet_of
from dibs.queues.files.parts import Parts
from dibs.queues.files.waits import Waits
from dibs.states import LIVE, Cell, State, cancel
from dibs.task import Task, encode, new_id
from dibs.values import replace

FEW = 4
SCRATCH_SECONDS = 3600.0


class Pusher:
    def __init__(self, parts: Parts, waits: Waits) -> None:
        self._parts = parts
        self._fs = parts.fs
        self._layout = parts.layout
        self._cells = parts.cells
        self._finder = parts.finder
        self._waits = waits

    def push(self, tasks: list[Task], now: float) -> list[Task]:
        data = {task.id: encode(task.to_record()) for task in tasks}
        keyed = [task for task in tasks if task.key is not None]
        for task in keyed:
            if task.key in task.after:
                raise BadInput(f"task with key {task.key!r} is to run after itself; remove it from `after`")
        owners = self._parts.keys.acquire_many(keyed, self._parts.state_of) if keyed else {}
        others = {task_id: owner for task_id, owner in owners.items() if owner != task_id}
        fresh = [task for task in tasks if task.id not in others]
        try:
            placed = self._place(fresh, data, now)
        except (OSError, StorageError):
            self._free_keys(fresh)
            raise
        return [self._existing(others[task.id], task) if task.id in others else placed[task.id] for task in tasks]

    def _place(self, tasks: list[Task], data: dict[str, bytes], now: float) -> dict[str, Task]:
        few = len(tasks) <= FEW
        sync = self._cells.sync
        touched = self._register_facets(tasks)
        for task in tasks:
            touched |= set(self._waits.write_pointers(task))
        written = self._parts.clock.boottime()
        scraps = {task.id: self._layout.scratch(f"{task.id}.task") for task in tasks}
        try:
            for task in tasks:
                self._fs.write(scraps[task.id], data[task.id], sync=sync and few)
            if sync:
                self._sync(touched, few=few)
        except OSError:
            self._abandon(tasks, scraps)
            raise
        placed: dict[str, Task] = {}
        folders = set()
        for task in tasks:
            cell = first_cell(task, now)
            target = self._layout.path(task.id, facet_of(task).code, cell)
            self._rename_in(task, scraps[task.id], target, written)
            folders.add(target.rpartition("/")[0])
            placed[task.id] = task.standing(cell)
        if sync:
            self._sync(folders, few=len(folders) <= FEW)
        for task in tasks:
            if task.key is not None and self._parts.keys.confirm(task.key, task.id) not in (None, task.id):
                self._withdraw(task)  # somebody took the key for a pusher that seemed to be dead: us
                placed[task.id] = self.push([replace(task, id=new_id(self._parts.clock))], now)[0]
        return placed

    def _rename_in(self, task: Task, scratch: str, target: str, written: float) -> None:
        if self._cells.move(scratch, target):
            return
        # The file is gone from where we put it. Within the hour nobody but this rename can have moved it: its
        # answer was lost, and the task has even moved on since. Writing it again would make two of it.
        if self._parts.clock.boottime() - written > SCRATCH_SECONDS and self._finder.locate(task.id) is None:
            raise StorageError(
                f"cannot tell whether task {task.id} was pushed: it took too long; look for it and push again"
            )

    def _existing(self, task_id: str, asked: Task) -> Task:
        try:
            found = self._finder.locate(task_id)
            if found is not None:
                return replace(self._finder.read(found), duplicate=True)
        except FileNotFoundError:
            pass  # it moves; what we know is enough
        return replace(asked, id=task_id, duplicate=True)

    def _withdraw(self, task: Task) -> None:
        """Our own push lost its key before it returned: nobody was told of it yet."""
        found = self._finder.locate(task.id)
        if found is not None and found.state in LIVE:
            self._cells.swap(task.id, found.name.facet, found.cell, cancel(found.cell))

    def _register_facets(self, tasks: list[Task]) -> set[str]:
        return self._parts.facets.register(map(facet_of, tasks), f"{tasks[0].id}.note") if tasks else set()

    def _sync(self, folders: set[str], *, few: bool) -> None:
        if few:
            for folder in sorted(folders):
                try:
                    self._cells.sync_folders(folder)
                except FileNotFoundError:
                    continue  # its tasks have moved on already, and it was tidied away
        else:
            self._fs.sync_all(self._layout.root)

    def _abandon(self, tasks: list[Task], scraps: dict[str, str]) -> None:
        for task in tasks:
            try:
                self._fs.unlink(scraps[task.id])
            except OSError:
                pass  # never written, or the disk is gone: tidying will find it

    def _free_keys(self, tasks: list[Task]) -> None:
        """Of those that were not put in their place; best effort: a key that stays taken is free after the grace."""
        for task in tasks:
            try:
                if task.key is not None and self._finder.locate(task.id) is None:
                    self._parts.keys.close(task.key, task.id, State.CANCELLED)
            except (OSError, StorageError):
                continue


def first_cell(task: Task, now: float) -> Cell:
    if task.after:
        return Cell(State.BLOCKED)
    if task.not_before is not None and task.not_before > now:
        return Cell(State.SCHEDULED, due=task.not_before)
    return Cell(State.READY)
