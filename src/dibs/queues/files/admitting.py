"""Tasks that come into a file queue whole, from another: written aside, synced, renamed in as they stood, synced.

One admitter at a time: nothing but a lock that ends with its process keeps two of them from putting the same task in
twice, since a task's file is named by where it stands. Under the lock the whole queue is looked through for
the ids to come, a batch at a time. Pushes need no such thing: their ids are new.
"""

import fcntl
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from dibs.errors import BadInput, StorageError
from dibs.facets import facet_of
from dibs.queues.files.parts import Parts
from dibs.queues.files.pusher import FEW, Pusher
from dibs.queues.files.waits import Waits
from dibs.queues.parcel import Outcome, Parcel
from dibs.states import LIVE, Cell, State
from dibs.task import encode, is_id
from dibs.values import replace

LOCK_SECONDS = 120.0
_SESSION = re.compile("[a-z0-9-]+").fullmatch


class Admitter(Pusher):
    def __init__(self, parts: Parts, waits: Waits) -> None:
        super().__init__(parts, waits)
        self._keys = parts.keys
        self._lock = parts.layout.scratch("admitting.lock")

    def admit(self, parcels: Sequence[Parcel], leaving: dict[str, str]) -> dict[str, Outcome]:
        """What has `leaving` is not let in; look for that under the same lock, see `alone`."""
        coming = {parcel.id: _fitting(parcel) for parcel in parcels}
        outcomes = dict.fromkeys(self._finder.among(set(coming)), Outcome.THERE)
        if outcomes and self._cells.sync:
            self._fs.sync_all(self._layout.root)  # whoever put them there may have died before it did
        outcomes.update((task_id, Outcome.LEAVING) for task_id in leaving if task_id not in outcomes)
        fresh = [parcel for parcel in coming.values() if parcel.id not in outcomes]
        outcomes.update((parcel.id, Outcome.ADDED) for parcel in fresh)
        keyed = {parcel.id for parcel in fresh if parcel.task.key is not None and parcel.state in LIVE}
        owners = self._keys.acquire_many(
            [parcel.task for parcel in fresh if parcel.id in keyed], self._parts.state_of
        )  # fmt: skip
        now = round(self._parts.clock.wall(), 3)
        for number, parcel in enumerate(fresh):
            owner = owners.get(parcel.id, parcel.id)
            if owner != parcel.id:
                keyed.discard(parcel.id)
                fresh[number] = parcel.refused(owner, now)
                outcomes[parcel.id] = Outcome.DUPLICATE
        try:
            self._let_in(fresh)
        except (OSError, StorageError):
            self._free_keys([parcel.task for parcel in fresh if parcel.id in keyed])
            raise
        for parcel in fresh:
            if parcel.id in keyed:
                outcomes[parcel.id] = self._confirm(parcel, now)
        for parcel in coming.values():  # also if it was there: whoever put it there may have died before this
            if parcel.task.key is not None and parcel.state not in LIVE and outcomes[parcel.id] is not Outcome.LEAVING:
                self._name_ended(parcel)
        return outcomes

    @contextmanager
    def alone(self) -> Iterator[None]:
        until = self._parts.clock.boottime() + LOCK_SECONDS
        descriptor = os.open(self._lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if self._parts.clock.boottime() > until:
                        raise StorageError(
                            f"queue {self._layout.root}: another process moves tasks into it and does not go on; "
                            f"end that one, or wait for it"
                        ) from None
                    self._parts.clock.sleep(0.02)
            yield
        finally:
            os.close(descriptor)

    def _let_in(self, parcels: list[Parcel]) -> None:
        tasks = [parcel.task for parcel in parcels]
        sync = self._cells.sync
        few = len(tasks) <= FEW and not any(parcel.history for parcel in parcels)
        touched = self._register_facets(tasks)
        for parcel in parcels:
            if parcel.state is State.BLOCKED:
                touched |= set(self._waits.write_pointers(parcel.task))
            for event in parcel.history:
                self._parts.notes.repeat(parcel.id, parcel.cell, event)
        written = self._parts.clock.boottime()
        scraps = {task.id: self._layout.scratch(f"{task.id}.task") for task in tasks}
        try:
            for task in tasks:
                self._fs.write(scraps[task.id], encode(task.to_record()), sync=sync and few)
            if sync:
                self._sync(touched, few=few)
        except OSError:
            self._abandon(tasks, scraps)
            raise
        folders = set()
        for parcel in parcels:
            target = self._layout.path(parcel.id, facet_of(parcel.task).code, parcel.cell)
            self._rename_in(parcel.task, scraps[parcel.id], target, written)
            folders.add(target.rpartition("/")[0])
        if sync:
            self._sync(folders, few=len(folders) <= FEW)

    def _confirm(self, parcel: Parcel, now: float) -> Outcome:
        owner = self._keys.confirm(parcel.task.key or "", parcel.id)
        if owner in (None, parcel.id):
            return Outcome.ADDED
        refused = parcel.refused(owner or "", now)  # somebody took the key: we seemed to be dead
        found = self._finder.locate(parcel.id)
        if found is not None and found.state in LIVE:
            failed = Cell(State.FAILED, found.cell.epoch + 1, found.cell.attempts, found.cell.deaths)
            self._parts.notes.repeat(parcel.id, failed, replace(refused.history[-1], epoch=failed.epoch))
            self._cells.swap(parcel.id, found.name.facet, found.cell, failed)
        return Outcome.DUPLICATE

    def _name_ended(self, parcel: Parcel) -> None:
        """One that does not hold its key can still be looked up by it, unless that names another."""
        key = parcel.task.key or ""
        if self._keys.lookup(key) is None:
            if self._keys.acquire(key, parcel.id, "live", self._parts.state_of) == parcel.id:
                self._keys.confirm(key, parcel.id)
            self._keys.close(key, parcel.id, parcel.state)


def _fitting(parcel: Parcel) -> Parcel:
    if not is_id(parcel.id):
        raise BadInput(f"task {parcel.id!r} has an id of another form than those of file: queues; push its payload")
    if parcel.state is State.CLAIMED:
        raise BadInput(f"task {parcel.id} is claimed where it is; it can follow when its lease has ended")
    if parcel.state is not State.COMPLETED:
        return replace(parcel, holder="")
    epoch = max(parcel.task.epoch, 1)
    holder = parcel.holder if _SESSION(parcel.holder) else "moved"
    return replace(parcel, task=replace(parcel.task, epoch=epoch), holder=holder)
