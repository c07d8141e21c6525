"""Broken variants of the protocol, each a small change to the real classes. The simulation must catch every one:
a check that lets one of these pass checks nothing."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from unittest import mock

from dibs import states
from dibs.clock import parse_time
from dibs.keys import Keys
from dibs.lease import FOR_EVER, Held, Leases, Lost, Record, Seen
from dibs.liveness import Holder, Verdict, Watch
from dibs.queues.files.pusher import Pusher
from dibs.queues.files.session import Session, write_record
from dibs.queues.specs.ledger import lock_key
from dibs.queues.specs.steps import Steps
from dibs.queues.specs.tasks import task_of
from dibs.queues.stored.body import Known
from dibs.queues.stored.cells import Cells
from dibs.queues.stored.layout import cell_key
from dibs.states import Cell, State
from dibs.stores.store import Changed, Exists
from dibs.task import Task, decode, encode
from dibs.values import replace

from .broken_markers import DeadAtOnce, NoOwnDeadline, OwnDroppedFirst, StaleDeleted, UnlookedTakeover, Unmarked
from .broken_priorities import CopyThenDelete, PrioritisedWhileHeld
from .broken_shares import RenamedOnShare, UnblankedOnShare
from .cloud import SimStore
from .files_backend import FilesBackend
from .locks import LocksBackend
from .specs_backend import SpecsBackend
from .stored_backend import StoredBackend


class DeleteThenCreate(LocksBackend):
    """Takeover deletes the stale lease and creates its own: the second of two deletes the first one's fresh lease."""

    backend = "locks"

    class Broken(Leases):
        def acquire(self, key: str, holder: Holder) -> Held | None:
            found = self.read(key)
            cell = found.record.cell if found else Cell(State.READY)
            if found is not None:
                if cell.state is State.CLAIMED and self.judge(key, found) is Verdict.ALIVE:
                    return None
                self.store.delete(key)
            cell = Cell(State.READY, cell.epoch, cell.attempts, cell.deaths)
            try:
                return self.held(key, self.create(key, Record(states.claim(cell, holder.session), holder)))
            except Exists:
                return None

    leases_class = Broken


def _step_uncompared(self: Held, change: Any) -> Any:
    while found := self._leases.read(self.key):
        with suppress(Changed):
            self.seen = self._leases.swap(self.key, found.version, change(self.seen.record))
            return self.seen
    raise Lost(None)


class FinishUncompared(StoredBackend):
    """The finish overwrites whatever is there."""

    backend = "stored"

    patches = ((Held, "step", _step_uncompared),)


class ReadThenWrite(LocksBackend):
    """The lock is looked at, found free, and then written."""

    backend = "locks"

    class Store(SimStore):
        def create(self, key: str, data: bytes) -> str:
            if self.get(key) is not None:
                raise Exists(key)
            return self.put(key, data)

        def replace(self, key: str, data: bytes, version: str) -> str:
            entry = self.get(key)
            if entry is None or entry.version != version:
                return super().replace(key, data, "never")
            return self.put(key, data)

    store_class = Store


class NumberedRecords(LocksBackend):
    """Each lease is a record of its own, created under the next number; releasing cleans the numbers up."""

    backend = "locks"

    class Broken(Leases):
        def acquire(self, key: str, holder: Holder) -> Held | None:
            number = max((int(name.rpartition("/")[2]) for name in self.store.list(f"{key}/")), default=0)
            found = self.read(f"{key}/{number}") if number else None
            if found is not None and self.judge(f"{key}/{number}", found) is Verdict.ALIVE:
                return None
            cell = states.claim(
                states.expire(found.record.cell, FOR_EVER) if found else Cell(State.READY), holder.session
            )
            try:
                seen = self.create(f"{key}/{number + 1}", Record(cell, holder))
            except Exists:
                return None
            held = NumberedRecords.BrokenHeld(self, f"{key}/{number + 1}", seen)
            held.lock = key
            return held

    class BrokenHeld(Held):
        lock = ""

        def release(self) -> None:
            names = list(self._leases.store.list(f"{self.lock}/"))
            if names[-1:] != [self.key]:
                return super().release()
            for name in names:
                self._leases.store.delete(name)
            return None

    leases_class = Broken

    def _changed(self, name: str, before: bytes | None, after: bytes | None) -> None:
        lock, _, number = name.rpartition("/")
        if after is None and int(number) != self._cells[lock].epoch:
            return
        super()._changed(lock, before, after)


class ForeignWallClock(LocksBackend):
    """Expiry is read from the record and compared with one's own wall clock."""

    backend = "locks"

    class Broken(Leases):
        def judge(self, key: str, found: Any, boots: Any = ()) -> Verdict:
            entry = self.store.get(key)
            if entry is None or entry.version != found.version:
                return Verdict.ALIVE
            expired = parse_time(decode(entry.data)["expiry"]) < self.clock.wall()
            return Verdict.SILENT if expired else Verdict.ALIVE

    leases_class = Broken


def _beat_late(self: Session) -> bool:
    before = self._clock.boottime()
    self.holder = replace(self.holder, beat=before, sure=self.deadline)
    write_record(self._fs, self._layout, self.holder)
    self.deadline = before + self.ttl
    return True


class LateRenewal(FilesBackend):
    """A beat counts whenever it comes."""

    backend = "files"

    patches = ((Session, "beat", _beat_late),)


def _rename_in_blindly(self: Pusher, task: Any, scratch: str, target: str, *more: Any) -> None:
    while True:
        try:
            self._fs.rename(scratch, target)
            return
        except FileNotFoundError:
            self._fs.mkdir(target.rpartition("/")[0])
            self._fs.write(scratch, encode(task.to_record()))


class BlindPush(FilesBackend):
    """A push whose answer was lost is simply sent again."""

    backend = "files"

    patches = ((Pusher, "_rename_in", _rename_in_blindly),)


def _free_late(self: Keys, name: str, *version: str) -> bool:
    self._clock.sleep(self._rng.random() * 20)
    self._store.delete(name)
    return True


class SlowHelper(StoredBackend):
    """A purger takes its time, and then deletes the key's record whatever it says by now."""

    patches = ((Keys, "_free", _free_late),)
    backend = "stored-keys"


_judge = Watch.judge


def _judge_old_reading(self: Watch, holder: Holder, asked: float, boots: Any = ()) -> Verdict:
    return _judge(self, holder, self._clock.boottime(), boots)


class OldReading(FilesBackend):
    """A record that was read long ago is judged by the time it is now."""

    backend = "files"

    patches = ((Watch, "judge", _judge_old_reading),)


def _swap_unlooked(self: Cells, known: Known, record: Record) -> Seen:
    if known.seen.version:
        return self.leases.swap(cell_key(known.task.id), known.seen.version, record)
    return self._first(known.task.id, record)


class UnlookedSeed(StoredBackend):
    """The first step with a fresh task does not look whether the task is still there, or has come and gone."""

    backend = "stored-seeds"

    patches = ((Cells, "_swap", _swap_unlooked),)


def _claim_unlocked(self: Steps, task_id: str, holder: Holder) -> tuple[Task, Held] | None:
    key = lock_key(task_id)
    try:
        found = self._leases.create(key, self._unborn(task_id, holder))
        free = self._claimable(task_id)
        if free is None:
            self._store.delete_if(key, found.version)
            return None
        page, cell = free
        task = task_of(page.spec, self._limits, page.data)
        found = self._leases.swap(key, found.version, self._record(task, cell, holder))
    except (Exists, Changed):
        return None
    self._written(page, cell, holder, found.record)
    return task, self._leases.held(key, found)


class UnlockedFile(SpecsBackend):
    """A claimer writes the spec without the lock's own lock: it may be stopped between its last look and the rename."""

    backend = "specs"

    patches = ((Steps, "claim", _claim_unlocked),)


VARIANTS: dict[str, Any] = {
    variant.__name__: variant
    for variant in (
        DeleteThenCreate, FinishUncompared, ReadThenWrite, NumberedRecords, ForeignWallClock, LateRenewal, BlindPush,
        SlowHelper, OldReading, UnlookedSeed, UnlockedFile, CopyThenDelete, PrioritisedWhileHeld, Unmarked,
        StaleDeleted, NoOwnDeadline, UnlookedTakeover, OwnDroppedFirst, DeadAtOnce,
        RenamedOnShare, UnblankedOnShare,
    )
}  # fmt: skip


@contextmanager
def broken(variant: type | None) -> Iterator[None]:
    """The real classes as the variant wants them."""
    patches = [mock.patch.object(owner, name, change) for owner, name, change in getattr(variant, "patches", ())]
    for patch in patches:
        patch.start()
    try:
        yield
    finally:
        for patch in patches:
            patch.stop()
