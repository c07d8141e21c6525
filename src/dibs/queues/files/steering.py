"""Steering: what people and completers do to tasks they do not hold: cancel, retry, prioritise,
unblock, purge, pause."""

from collections.abc import Callable
from contextlib import suppress

from dibs import states
from dibs.errors import BadInput, Refused, StorageError
from dibs.facets import Facet, facet_of
from dibs.queues.files.finder import Found
from dibs.queues.files.parts import Parts
from dibs.queues.files.waits import Waits
from dibs.states import Cell, State
from dibs.task import Task, decode, encode, new_id
from dibs.values import replace

TRIES = 100


class Steering:
    def __init__(self, parts: Parts, waits: Waits) -> None:
        self._parts = parts
        self._waits = waits
        self._marker = parts.layout.folder("paused")

    def cancel(self, locate: Callable[[], Found], read: Callable[[Found], Task]) -> Task:
        task, cell = self._step(locate, read, lambda task, seen: states.cancel(seen))
        self.ended(task, State.CANCELLED)
        return task.standing(cell)

    def retry(self, locate: Callable[[], Found], read: Callable[[Found], Task]) -> Task:
        def again(task: Task, seen: Cell) -> Cell:
            cell = states.retry(seen)
            if task.key is not None:
                self._parts.keys.reopen(task.key, task.id, self._parts.state_of)
            return cell

        task, cell = self._step(locate, read, again)
        if task.key is not None:
            owner = self._parts.keys.confirm(task.key, task.id)
            if owner not in (None, task.id):
                self._step(locate, read, lambda task, seen: states.cancel(seen))
                raise Refused(f"cannot retry task {task.id}: its key {task.key!r} was taken by task {owner} meanwhile")
        return task.standing(cell)

    def prioritise(self, locate: Callable[[], Found], read: Callable[[Found], Task], priority: int) -> Task:
        """One rename: the priority is a part of the name, and in `pending/` of the folder."""
        parts = self._parts
        for _ in range(TRIES):
            found = locate()
            cell = states.prioritise(found.cell)
            task = read(found)
            if found.name.priority == priority:
                return task
            facet = self._facet(found, task)._replace(priority=priority)
            folders = parts.facets.register([facet], f"{new_id(parts.clock)}.note")
            target = parts.layout.path(found.name.id, facet.code, cell)
            if parts.sync:
                for folder in folders:
                    parts.cells.sync_folders(folder)
            if parts.cells.move(found.path, target):
                if parts.sync:
                    with suppress(FileNotFoundError):  # it has moved on, and the folder was tidied away
                        parts.cells.sync_folders(target.rpartition("/")[0])
                return replace(task.standing(cell), priority=priority)
            parts.clock.sleep(0.01)
        raise StorageError(f"task {found.name.id} keeps moving; try again")

    def _facet(self, found: Found, task: Task) -> Facet:
        """By the task's own record; of a damaged one by what is known of the code in its name."""
        facet = facet_of(task)
        return facet if facet.code == found.name.facet else self._parts.finder.facet(found.name.facet)

    def _step(
        self, locate: Callable[[], Found], read: Callable[[Found], Task], decide: Callable[[Task, Cell], Cell]
    ) -> tuple[Task, Cell]:
        """A task may move while it is looked at: look again until the swap holds."""
        for _ in range(TRIES):
            found = locate()
            task = read(found)
            cell = decide(task, found.cell)
            if self._parts.cells.swap(task.id, found.name.facet, found.cell, cell):
                if self._parts.sync:
                    path = self._parts.layout.path(task.id, found.name.facet, cell)
                    self._parts.fs.sync_folder(path.rpartition("/")[0])
                return task, cell
            self._parts.clock.sleep(0.01)
        raise StorageError(f"task {found.name.id} keeps moving; try again")

    def ended(self, task: Task, state: State) -> None:
        """Let its key know. Failing to is harmless: the key's next user looks for itself."""
        if task.key is not None:
            try:
                self._parts.keys.close(task.key, task.id, state)
            except (OSError, StorageError):
                pass

    # Dependencies

    def unblock(self, task_id: str) -> bool:
        """Make a blocked task ready, or scheduled, if everything it waits for is completed."""
        found = self._parts.finder.locate(task_id)
        if found is None or found.state is not State.BLOCKED:
            return False
        try:
            task = self._parts.finder.read(found)
        except (FileNotFoundError, BadInput):
            return False  # moved on, or damaged: then it stays where it is
        if not self._waits.met(task.after):
            return False
        early = task.not_before is not None and task.not_before > self._parts.store_time()
        cell = states.promote(found.cell, task.not_before or 0.0) if early else states.promote(found.cell)
        return bool(self._parts.cells.attempt(found.path, self._parts.layout.path(task_id, found.name.facet, cell)))

    def free_waiting(self, task_id: str, key: str | None) -> bool:
        """A task completed: promote what waited for it. True when something became ready."""
        freed = False
        for ref in (task_id,) if key is None else (task_id, key):
            for waiting in self._waits.waiting_for(ref):
                freed |= self.unblock(waiting)
                self._waits.drop_pointer(ref, waiting)
        return freed

    # Pause

    def pause(self, reason: str) -> None:
        fs, layout, clock = self._parts.fs, self._parts.layout, self._parts.clock
        scratch = layout.scratch(f"{new_id(clock)}.note")
        fs.write(scratch, encode({"reason": reason, "at": clock.wall()}), sync=self._parts.sync)
        fs.rename(scratch, self._marker)

    def resume(self) -> None:
        try:
            self._parts.fs.unlink(self._marker)
        except FileNotFoundError:
            pass  # it was not paused: what was asked for holds

    def is_paused(self) -> bool:
        return self._parts.fs.exists(self._marker)

    def reason(self) -> str | None:
        try:
            return str(decode(self._parts.fs.read(self._marker))["reason"])
        except FileNotFoundError:
            return None
        except (BadInput, KeyError, TypeError, PermissionError):
            return ""  # `touch paused` pauses too

    # Purge

    def purge(self, state: State | str, older_than: float) -> int:
        if state not in states.TERMINAL:
            raise Refused(f"cannot purge tasks that are {state}; only completed, failed or cancelled ones")
        before = self._parts.store_time() - older_than
        state = State(state)
        return sum(self.remove_ended(state, folder, before) for folder in self._parts.finder.folders(state))

    def remove_ended(self, state: State, folder: str, before: float) -> int:
        """Delete the tasks of one folder that ended before a time: first what hangs on them, the task itself last."""
        fs, notes = self._parts.fs, self._parts.notes
        place = self._parts.layout.folder(f"notes/{folder.rpartition('/')[2]}")
        written = notes.by_task(place)
        removed = 0
        for found in self._parts.finder.in_folder(state, folder):
            try:
                if fs.times(found.path)[1] > before:
                    continue
                task = self._parts.finder.read(found)
                if task.key is not None:
                    self._parts.keys.forget(task.key, task.id, self._parts.state_of)
            except FileNotFoundError:
                continue  # retried, or removed by somebody else
            except BadInput:
                if state is not State.FAILED:
                    continue  # damaged: a person should look at it first
            for text in written.get(found.name.id, ()):
                notes.take_back(f"{place}/{text}")
            removed += self._parts.cells.remove(found.path)
        return removed
