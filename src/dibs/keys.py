"""Keys: the user's own names for tasks. A key has a cell of its own that names its task.

A key is unique among live tasks; with unique="completed" at push, a completed one counts too. Failed and
cancelled tasks do not hold their key. The cell goes on naming the last task of its key, so that
`after: [key]` and look-ups find it, until that task is purged.

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

import hashlib
import os
import random
import threading
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from dibs.clock import Clock
from dibs.errors import BadInput, Refused, Unsupported
from dibs.host import Host, this_host
from dibs.states import LIVE, State
from dibs.stores import settle
from dibs.stores.store import Changed, Entry, Exists, Store
from dibs.task import Task, decode, encode

GRACE_SECONDS = 60.0
LONGEST_PAUSE = 0.25
Find = Callable[[str], State | None]


class Cell(NamedTuple):
    id: str
    state: str  # pushing, live, completed, failed, cancelled, free
    at: float  # the store's time
    boot: str
    beat: float  # boottime of `boot`
    space: str
    pid: int
    start: str
    version: str


class Grant(NamedTuple):
    """A cell this process has acquired for a task and not yet confirmed."""

    id: str
    version: str
    find: Find
    thread: int


def cell_name(key: str) -> str:
    digest = hashlib.sha256(key.encode()).hexdigest()
    return f"keys/{digest[:2]}/{digest}"


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
                self._free(name, self._granted.pop(name).version)
            raise
        return owners

    def acquire(self, key: str, task_id: str, unique: str, find: Find) -> str:
        """The id of the task that has the key: `task_id` itself (go on and push it) or another.
        May wait for another pusher, at most for the grace. For several tasks at once: `acquire_many`."""
        name = cell_name(key)
        pause = 0.002
        while True:
            seen = self._read(name)
            if seen is None:
                version = self._create(name, key, task_id)
                if version:
                    return self._grant(name, task_id, version, find)
            else:
                state = find(seen.id) if seen.id else None
                if state in LIVE or (state is State.COMPLETED and unique == "completed"):
                    return seen.id
                if state is not None or self._interrupted(name, seen) or self._given_up(seen):
                    owner = self._take_over(name, key, task_id, seen, find, appeared=state is not None)
                    if owner:
                        return owner
            self._clock.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    def confirm(self, key: str, task_id: str) -> str | None:
        """The task is in its place: `task_id`, or None when the key is forgotten already, is well. Any other id
        has the key by now: withdraw the task and start over."""
        name = cell_name(key)
        grant = self._granted.pop(name, None)
        if grant is None or grant.id != task_id:
            return self.lookup(key)
        version = grant.version
        pause = 0.002
        while True:
            if version and self._swap(name, key, task_id, "live", version):
                return task_id
            seen = self._read(name)
            if seen is None:
                return None
            version = ""
            if seen.id == task_id:
                if seen.state != "pushing":
                    return task_id  # confirmed by somebody else, or finished already
                version = seen.version
            elif seen.id and grant.find(seen.id) is not None:
                return seen.id
            elif self._given_up(seen):
                version = seen.version
            else:  # somebody is pushing in our place, or about to give the cell back
                self._clock.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)

    def reopen(self, key: str, task_id: str, find: Find) -> None:
        """Before a retry: the key names this task again. Refused if another live task has it.
        After the step comes `confirm`; if it names another, the retry must be undone."""
        name = cell_name(key)
        while True:
            seen = self._read(name)
            if seen is not None and seen.id not in ("", task_id) and find(seen.id) in LIVE:
                raise Refused(f"cannot retry task {task_id}: its key {key!r} is taken by live task {seen.id}")
            if seen is None:
                version = self._create(name, key, task_id)
            else:
                version = self._swap(name, key, task_id, "pushing", seen.version)
            if version:
                self._grant(name, task_id, version, find)
                return

    # Look

    def lookup(self, key: str) -> str | None:
        """The id of the last task pushed with the key; it may not be there (yet, or any more)."""
        seen = self._read(cell_name(key))
        return seen.id or None if seen is not None else None

    def leftover(self, key: str, task_id: str, find: Find) -> bool:
        """True when the key certainly belongs to another task, so that this one must not run."""
        other = self.lookup(key)
        return other is not None and other != task_id and find(other) is not None

    # End

    def close(self, key: str, task_id: str, state: State) -> None:
        """Note how the task ended, if the cell still names it. For people, and for pushes that gave up half-way
        (state cancelled): where the task itself can be found, that decides."""
        name = cell_name(key)
        while (seen := self._read(name)) is not None and seen.id == task_id and seen.state != state:
            if self._swap(name, key, task_id, state, seen.version):
                return

    def forget(self, key: str, task_id: str) -> None:
        """The task is about to be purged: remove the cell, if it still names this task."""
        name = cell_name(key)
        while (seen := self._read(name)) is not None and seen.id == task_id:
            if self._free(name, seen.version):
                return

    def _free(self, name: str, version: str) -> bool:
        try:
            self._store.delete_if(name, version)
        except Unsupported:
            return bool(self._swap(name, "", "", "free", version))
        except Changed:
            return False
        return True

    def _take_over(self, name: str, key: str, task_id: str, seen: Cell, find: Find, *, appeared: bool) -> str | None:
        version = self._swap(name, key, task_id, "pushing", seen.version)
        if not version:
            return None
        if not appeared and seen.id and find(seen.id) is not None:
            # It came after all, between our look and our step: it was first.
            return seen.id if self._swap(name, key, seen.id, "live", version) else None
        return self._grant(name, task_id, version, find)

    def _grant(self, name: str, task_id: str, version: str, find: Find) -> str:
        self._granted[name] = Grant(task_id, version, find, threading.get_ident())
        return task_id

    def _interrupted(self, name: str, seen: Cell) -> bool:
        """This very thread acquired the cell, and is back without having confirmed: that push broke off."""
        grant = self._granted.get(name)
        return grant is not None and (grant.version, grant.thread) == (seen.version, threading.get_ident())

    def _given_up(self, seen: Cell) -> bool:
        """Its task is not there: will it never come?"""
        if seen.state not in ("pushing", "live"):
            return True
        if seen.boot != self._host.boot:
            return self._store.now() - seen.at > self._grace
        visible = seen.state == "pushing" and seen.space == self._host.space
        if visible and self._host.process_gone(seen.pid, seen.start):
            return True
        return self._clock.boottime() - seen.beat > self._grace

    # The cell

    def _read(self, name: str) -> Cell | None:
        entry = self._store.get(name)
        return None if entry is None else _parse(entry)

    def _create(self, name: str, key: str, task_id: str) -> str | None:
        try:
            return settle.create(self._store, name, self._body(key, task_id, "pushing"))
        except Exists:
            return None

    def _swap(self, name: str, key: str, task_id: str, state: str, version: str) -> str | None:
        try:
            return settle.replace(self._store, name, self._body(key, task_id, state), version)
        except Changed:
            return None

    def _body(self, key: str, task_id: str, state: str) -> bytes:
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
            }
        )


def _parse(entry: Entry) -> Cell:
    """A damaged cell names no task and can be taken over."""
    try:
        record: Any = decode(entry.data)
        return Cell(
            id=str(record["id"]),
            state=str(record["state"]),
            at=float(record["at"]),
            boot=str(record["boot"]),
            beat=float(record["beat"]),
            space=str(record["space"]),
            pid=int(record["pid"]),
            start=str(record["start"]),
            version=entry.version,
        )
    except (BadInput, KeyError, TypeError, ValueError):
        return Cell("", "free", 0.0, "", 0.0, "", 0, "", entry.version)
