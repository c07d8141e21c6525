"""Keys: the user's own names for tasks. A key has a cell of its own that names its task.

A key is unique among live tasks; with unique="completed" at push, a completed one counts too. Failed and
cancelled tasks do not hold their key. The cell goes on naming the last task of its key, so that
`after: [key]` and look-ups find it, until that task is purged; and the last that completed before it.

    push    acquire: the cell names my task, "pushing"   (create, or replace from the version seen)
            put the task in its place
            confirm: the cell says "live"                (replace from the version acquired)
    retry   reopen, then the step, then confirm: the same three

Whoever finds a cell whose task is not there waits for it, and takes the cell over once its pusher is dead
or GRACE has passed. A pusher that was so slow fails to confirm, withdraws its own task and starts over.
After `confirm` returned its own id no late taker-over can succeed: the version has moved on.

A claimer that finds its task to be a `leftover` (the key names another task, which exists) drops it. In doubt
it runs: a lost push is worse than a double run. Every write and every delete is conditional on the
version seen. A cell must be on disk before its task is; `confirm`, `close` and `forget` need no sync.

`find` is the queue's: a task's state now, None if it has no such task. It must not miss one that moves.
"""

import os
import random
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NamedTuple

from dibs.clock import Clock
from dibs.errors import Refused, StorageError, Unsupported
from dibs.host import Host, this_host
from dibs.keycell import KeyCell, cell_name, parse
from dibs.patience import Patience
from dibs.states import LIVE, State
from dibs.stores import settle
from dibs.stores.store import Changed, Exists, Store
from dibs.task import Task, encode

GRACE_SECONDS = 60.0
LAG_SECONDS = 65.0  # a network file system may show a folder as it was a minute ago
Find = Callable[[str], State | None]


class Grant(NamedTuple):
    """A cell this process has acquired for a task and not yet confirmed."""

    id: str
    version: str
    find: Find
    thread: int
    done: str


class Keys:
    """Safe for threads. A queue has one."""

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock,
        rng: random.Random,
        host: Host | None = None,
        process: Callable[[], int] = os.getpid,
        grace: float = GRACE_SECONDS,
    ) -> None:
        self._store = store
        self._clock = clock
        self._rng = rng
        self._host = host or this_host()
        self._process = process
        self._grace = grace
        self._started = (0, "")
        self._granted: dict[str, Grant] = {}

    # Push

    def acquire_many(self, tasks: Iterable[Task], find: Find) -> dict[str, str]:
        """For the keyed ones, by task id, what `acquire` says; a key twice among them goes to the first.
        Everybody acquires in the same order, so that two pushers of the same keys never wait for each
        other. On an error what was acquired is given up."""
        owners: dict[str, str] = {}
        mine: dict[str, str] = {}  # cell -> task
        keyed = [(cell_name(task.key), number, task) for number, task in enumerate(tasks) if task.key is not None]
        try:
            for name, _, task in sorted(keyed, key=lambda item: item[:2]):
                owners[task.id] = mine.get(name) or self.acquire(task.key or "", task.id, task.unique, find)
                if owners[task.id] == task.id:
                    mine[name] = task.id
        except BaseException:
            for name in mine:
                grant = self._granted.pop(name)
                self._free(name, grant.version, grant.done)
            if task.id not in owners:  # the one that failed may have its cell all the same
                with suppress(StorageError):
                    self.close(task.key or "", task.id, State.CANCELLED)
            raise
        return owners

    def acquire(self, key: str, task_id: str, unique: str, find: Find) -> str:
        """The id of the task that has the key: `task_id` itself (go on and push it) or another.
        May wait for another pusher, at most for the grace. For several tasks at once: `acquire_many`."""
        name = cell_name(key)
        patience = Patience(self._clock)
        while True:
            seen = self._read(name)
            if seen is None:
                version = self._create(name, key, task_id)
                if version:
                    return self._grant(name, task_id, version, find)
            else:
                state = find(seen.id) if seen.id else None
                if state in LIVE:
                    return seen.id
                if unique == "completed" and (completed := _completed(seen, state, find)):
                    return completed
                settled = state is not None and seen.state != "pushing"  # else it may be about to be retried
                if settled or self._interrupted(name, seen) or self._given_up(seen, patience):
                    owner = self._take_over(name, key, task_id, unique, seen, find, state)
                    if owner:
                        return owner
            patience.wait()

    def confirm(self, key: str, task_id: str) -> str | None:
        """The task is in its place: `task_id`, or None when the key is forgotten already, is well. Any other id
        has the key by now: withdraw the task and start over."""
        name = cell_name(key)
        grant = self._granted.get(name)
        if grant is None or grant.id != task_id:
            seen = self._read(name)
            return seen.id or None if seen else None
        del self._granted[name]
        version, done = grant.version, grant.done
        patience = Patience(self._clock)
        while True:
            if version and self._swap(name, key, task_id, "live", version, done):
                return task_id
            seen = self._read(name)
            if seen is None:
                if grant.find(task_id) not in LIVE:
                    return None
                version = self._create(name, key, task_id) or ""  # a live task never goes without its cell
                continue
            version, done = "", seen.done
            if seen.id == task_id:
                if seen.state != "pushing":
                    return task_id  # confirmed by somebody else, or finished already
                version = seen.version
            elif seen.id and grant.find(seen.id) is not None:
                return seen.id
            elif self._given_up(seen, patience):
                version = seen.version
            else:  # somebody is pushing in our place, or about to give the cell back
                patience.wait()

    def reopen(self, key: str, task_id: str, find: Find) -> None:
        """Before a retry: the key names this task again. Refused if another live task has it.
        After the step comes `confirm`; if it names another, the retry must be undone.
        May wait for a push in progress, as `acquire` does."""
        name = cell_name(key)
        patience = Patience(self._clock)
        while True:
            seen = self._read(name)
            other = seen.id if seen is not None and seen.id != task_id else ""
            state = find(other) if other else None
            if state in LIVE:
                raise Refused(f"cannot retry task {task_id}: its key {key!r} is taken by live task {other}")
            if seen is None:
                version, done = self._create(name, key, task_id), ""
            elif other and state is None and not (self._interrupted(name, seen) or self._given_up(seen, patience)):
                patience.wait()  # it may be about to appear, or hidden by a listing that lags
                continue
            else:
                done = other if state is State.COMPLETED else seen.done
                version = self._swap(name, key, task_id, "pushing", seen.version, done)
            if version:
                self._grant(name, task_id, version, find, done)
                return

    # Look

    def lookup(self, key: str) -> str | None:
        """The id of the last task pushed with the key; it may not be there (yet, or any more)."""
        seen = self._read(cell_name(key))
        return None if seen is None else seen.id or seen.done or None

    def leftover(self, key: str, task_id: str, find: Find) -> bool:
        """True when the key certainly belongs to another task, so that this one must not run."""
        seen = self._read(cell_name(key))
        return seen is not None and seen.id not in ("", task_id) and find(seen.id) is not None

    # End

    def close(self, key: str, task_id: str, state: State) -> None:
        """Note how the task ended, if the cell still names it. For people, and for pushes that gave up half-way
        (state cancelled): where the task itself can be found, that decides."""
        name = cell_name(key)
        while (seen := self._read(name)) is not None and seen.id == task_id and seen.state != state:
            if self._swap(name, key, task_id, state, seen.version, seen.done):
                return

    def forget(self, key: str, task_id: str, find: Find) -> None:
        """The task is about to be purged: remove the cell if it names this task, or only the mention of it. Not if
        somebody retries it meanwhile: whoever reopens the cell moves its version on, before the step."""
        name = cell_name(key)
        while (seen := self._read(name)) is not None:
            if seen.id == task_id and (seen.state == "pushing" or find(task_id) in LIVE):
                return
            if seen.id == task_id or (seen.done == task_id and not seen.id):
                gone = self._free(name, seen.version, "" if seen.done == task_id else seen.done)
            elif seen.done == task_id and seen.state != "pushing":
                gone = bool(self._swap(name, key, seen.id, seen.state, seen.version, ""))
            else:
                return
            if gone:
                return

    def _free(self, name: str, version: str, done: str = "") -> bool:
        """Remove the cell, or leave one that names no task but remembers the one completed before."""
        try:
            if done:
                return bool(self._swap(name, "", "", "free", version, done))
            self._store.delete_if(name, version)
        except Unsupported:
            return bool(self._swap(name, "", "", "free", version, ""))
        except Changed:
            return False
        return True

    def _take_over(
        self, name: str, key: str, task_id: str, unique: str, seen: KeyCell, find: Find, state: State | None
    ) -> str | None:
        done = seen.id if state is State.COMPLETED else seen.done
        version = self._swap(name, key, task_id, "pushing", seen.version, done)
        if not version:
            return None
        if state is None and seen.id:
            found = find(seen.id)
            if found in LIVE or (found is State.COMPLETED and unique == "completed"):
                # It came after all, between our look and our step: it was first.
                return seen.id if self._swap(name, key, seen.id, "live", version, seen.done) else None
            done = seen.id if found is State.COMPLETED else done
        return self._grant(name, task_id, version, find, done)

    def _grant(self, name: str, task_id: str, version: str, find: Find, done: str = "") -> str:
        self._granted[name] = Grant(task_id, version, find, threading.get_ident(), done)
        return task_id

    def _interrupted(self, name: str, seen: KeyCell) -> bool:
        """This very thread acquired the cell, and is back without having confirmed: that push broke off."""
        grant = self._granted.get(name)
        return grant is not None and (grant.version, grant.thread) == (seen.version, threading.get_ident())

    def _given_up(self, seen: KeyCell, patience: Patience) -> bool:
        """Its task is not there: will it never come?"""
        if seen.state == "live":  # it was there: deleted by hand, or only missed by a listing that lags
            return patience.spent_on(seen.version) > LAG_SECONDS
        if seen.state != "pushing":
            return True
        if seen.boot != self._host.boot:
            return self._store.now() - seen.at > self._grace
        if seen.space == self._host.space and self._host.process_gone(seen.pid, seen.start):
            return True
        return self._clock.boottime() - seen.beat > self._grace

    # The cell

    def _read(self, name: str) -> KeyCell | None:
        entry = self._store.get(name)
        return None if entry is None else parse(entry)

    def _create(self, name: str, key: str, task_id: str) -> str | None:
        try:
            return settle.create(self._store, name, self._body(key, task_id, "pushing"))
        except Exists:
            return None

    def _swap(self, name: str, key: str, task_id: str, state: str, version: str, done: str) -> str | None:
        try:
            return settle.replace(self._store, name, self._body(key, task_id, state, done), version)
        except Changed:
            return None

    def _body(self, key: str, task_id: str, state: str, done: str = "") -> bytes:
        pid = self._process()
        if self._started[0] != pid:
            self._started = (pid, self._host.started(pid))
        return encode(
            {
                "key": key,
                "id": task_id,
                "state": str(state),
                "nonce": f"{self._rng.getrandbits(64):016x}",
                "at": round(self._store.now(), 3),
                "boot": self._host.boot,
                "beat": self._clock.boottime(),
                "space": self._host.space,
                "pid": pid,
                "start": self._started[1],
                "done": done,
            }
        )


def _completed(seen: KeyCell, state: State | None, find: Find) -> str | None:
    """The task of the key that counts as completed. A cell that says so is believed even if its task is not found:
    whoever purges a task removes the cell first."""
    if state is State.COMPLETED or (state is None and seen.state == State.COMPLETED):
        return seen.id
    return seen.done if seen.done and find(seen.done) is State.COMPLETED else None
