"""Dependencies: `after`.

A task stays `blocked` until everything it names, by id or key, is completed. For each name there is a pointer
`waits/<dependency>/<task>`, written before the task, by which a completer finds who may have waited for it. Pointers
are hints: what counts is the state of the dependency, looked up. A failed or cancelled dependency keeps
its dependants blocked (retrying it frees them), and so does an unknown one (it may yet be pushed).
"""

from collections.abc import Callable, Iterator
from contextlib import suppress

from dibs.clock import Clock
from dibs.queues.stored.layout import wait_folder
from dibs.states import State
from dibs.stores import settle
from dibs.stores.store import Exists, Store
from dibs.task import Task, is_id


class Waits:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        lookup: Callable[[str], str | None],
        state_of: Callable[[str], State | None],
        *,
        fresh_seconds: float,
    ) -> None:
        self._store = store
        self._clock = clock
        self._lookup = lookup
        self._state_of = state_of
        self._fresh = fresh_seconds
        self._seen = (float("-inf"), False)

    def anybody(self) -> bool:
        """Whether any task waits for others, as of a moment ago. One pushed since is found by the upkeep."""
        now = self._clock.boottime()
        if now - self._seen[0] >= self._fresh:
            self._seen = (now, next(self._store.list("blocked/"), None) is not None)
        return self._seen[1]

    def point(self, task: Task) -> None:
        if task.after:
            self._seen = (float("-inf"), False)
        for ref in task.after:
            with suppress(Exists):
                settle.create(self._store, wait_folder(ref) + task.id, b"-\n")

    def unpoint(self, task: Task) -> None:
        for ref in task.after:
            self._store.delete(wait_folder(ref) + task.id)

    def standing(self, task: Task) -> tuple[tuple[str, str], ...]:
        """Each reference with its state, or "unknown"."""
        return tuple((ref, self._state(ref) or "unknown") for ref in task.after)

    def met(self, task: Task) -> bool:
        return all(self._state(ref) is State.COMPLETED for ref in task.after)

    def waiting_for(self, task: Task) -> Iterator[str]:
        """Ids of the tasks that may be waiting for this one."""
        for ref in (task.id, task.key):
            if ref is not None:
                for key in self._store.list(wait_folder(ref)):
                    if is_id(key.rpartition("/")[2]):
                        yield key.rpartition("/")[2]

    def forget(self, task: Task) -> None:
        """The task is about to be purged, and its id will never be used again."""
        for key in self._store.list(wait_folder(task.id)):
            self._store.delete(key)

    def _state(self, ref: str) -> State | None:
        task_id = ref if is_id(ref) else self._lookup(ref)
        return None if task_id is None else self._state_of(task_id)
