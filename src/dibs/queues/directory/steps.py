"""The steps of a `dir:` task. Its lease file is the lock for all that is kept of it.

    claim     create the lease file (it appears whole, for one creator). Then look again: witness, file, past
    finish    under the lease file's lock, from the version held: witness, past, and the lease file away
    expire    the same, from the version judged
    steward   a lease of no epoch, taken for a moment by whoever cancels or retries a task that nobody holds

A step that dies half-way leaves the lease file, and so a holder that is gone: whoever expires it finds
the witness, if it was written, and the past, if that was.
"""

import os
import random
from collections.abc import Callable
from contextlib import suppress

from dibs import states
from dibs.clock import Clock, iso
from dibs.errors import BadInput, Refused, StorageError
from dibs.lease import Held, Leases, Record, Seen
from dibs.liveness import Holder, Verdict
from dibs.queues.directory.frontier import Frontier
from dibs.queues.lockfiles.ending import claim_record, event, expired
from dibs.queues.lockfiles.limits import Limits
from dibs.queues.lockfiles.naming import record_name
from dibs.queues.lockfiles.past import FOLDERS, Past, Pasts
from dibs.queues.lockfiles.placing import place
from dibs.states import Cell, State
from dibs.stores.files import FileStore
from dibs.stores.refusal import refusals
from dibs.stores.store import Changed, Exists
from dibs.task import Task, decode, encode

LEASE = ".lease"
UNSEEN_SECONDS = 60.0  # for so long a client of a share may not see a witness that is there


def lease_key(task_id: str) -> str:
    return record_name(task_id) + LEASE


class Steps:
    def __init__(
        self,
        store: FileStore,
        leases: Leases,
        pasts: Pasts,
        frontier: Frontier,
        clock: Clock,
        rng: random.Random,
        limits: Limits,
        task_of: Callable[[str], Task],
    ) -> None:
        self._store = store
        self._leases = leases
        self._pasts = pasts
        self._frontier = frontier
        self._clock = clock
        self._rng = rng
        self._limits = limits
        self._task_of = task_of

    def claim(self, task_id: str, holder: Holder) -> tuple[Task, Held] | None:
        if not self._claimable_by_sight(task_id):
            return None
        key = lease_key(task_id)
        try:
            # Of no epoch, so it is no lease yet for anybody: the task is looked at again before it becomes one.
            unborn = Record(Cell(State.CLAIMED, holder=holder.session), holder, data={"task": task_id})
            found = self._leases.create(key, unborn)
            cell = self._claimable(task_id)
            if cell is None:
                self._store.delete_if(key, found.version)
                return None
            found = self._leases.swap(key, found.version, claim_record(task_id, cell, holder, self._limits.max_runtime))
        except (Exists, Changed):
            return None
        return self._task_of(task_id), self._leases.held(key, found)

    def _claimable_by_sight(self, task_id: str) -> bool:
        source = self._frontier.source(task_id)
        return source is not None and not self._frontier.is_done(task_id) and self._frontier.settles_at(source) is None

    def _claimable(self, task_id: str) -> Cell | None:
        """Where the task stands, if it is ready. Its lease is ours: nobody can change that now."""
        if not self._claimable_by_sight(task_id):
            return None
        past = self._pasts.read(task_id)
        cell = past.cell
        if cell.state is State.COMPLETED:
            return self._unwitnessed(past) if self._surely_gone(past) else None
        if cell.state is State.SCHEDULED and cell.due <= self._store.now():
            return states.promote(cell)
        return cell if cell.state is State.READY else None

    def _surely_gone(self, past: Past) -> bool:
        """Whether the witness of a completed task, which was not seen, is not there."""
        return not self._store.in_place or self._store.now() - past.ended > UNSEEN_SECONDS

    def _unwitnessed(self, past: Past) -> Cell:
        """Its witness was removed: a fresh start at the next epoch."""
        return Cell(State.READY, past.cell.epoch)

    def finish(
        self,
        task_id: str,
        seen: Seen,
        follow: Callable[[Cell], Cell],
        what: str,
        error: str = "",
        result: object = None,
    ) -> Cell:
        """Raises Changed when the lease is no longer as seen."""
        record = seen.record
        cell = follow(record.cell)
        with self._store.locked(lease_key(task_id), seen.version) as lease:
            if cell.state is State.CANCELLED and self._frontier.is_done(task_id):
                # Its holder completed it and broke off half-way.
                past = self._expired(task_id, record, self._pasts.read(task_id), Verdict.SILENT)
                self._pasts.write(task_id, past)
                lease.delete()
                raise Refused("cannot cancel a task that is completed; it must be live")
            happened = event(self._clock, record, what, error, result) if what else None
            if cell.state is State.COMPLETED:
                self._testify(task_id, record, result)
            ended = self._store.now() if cell.state in states.TERMINAL else 0.0
            self._pasts.write(task_id, self._pasts.read(task_id).then(cell, happened, ended))
            lease.delete()
        return cell

    def expire(self, task_id: str, seen: Seen, verdict: Verdict) -> bool:
        """The holder is gone. False when somebody else was faster, or it lives after all.
        Nobody is waited for: another one may have been stopped in the middle of a step."""
        record = seen.record
        try:
            with self._store.locked(lease_key(task_id), seen.version, patience=0.0) as lease:
                self._pasts.settle(task_id)
                past = self._pasts.read(task_id)
                over = past.cell.state in (State.CANCELLED, State.FAILED)
                if record.cell.epoch > past.cell.epoch and not over:  # else it never got as far as being a lease
                    self._pasts.write(task_id, self._expired(task_id, record, past, verdict))
                lease.delete()
        except Changed:
            return False
        return True

    def _expired(self, task_id: str, record: Record, past: Past, verdict: Verdict) -> Past:
        if self._frontier.is_done(task_id):
            return past.then(states.complete(record.cell), event(self._clock, record, "completed"), self._store.now())
        cell, happened = expired(record, self._limits, verdict, self._store.now(), self._clock, self._rng)
        return past.then(cell, happened, self._store.now() if cell.state is State.FAILED else 0.0)

    def steward(self, task_id: str, holder: Holder, follow: Callable[[Cell], Cell]) -> Cell | None:
        """A step of a task that nobody holds; None when somebody does. Raises Refused as `follow` does."""
        key = lease_key(task_id)
        record = Record(Cell(State.CLAIMED, holder=holder.session), holder, data={"task": task_id})
        try:
            found = self._leases.create(key, record)
        except Exists:
            return None
        try:
            past = self._pasts.read(task_id)
            cell = follow(self.standing(task_id, past))
        except Refused:
            with suppress(Changed):
                self._store.delete_if(key, found.version)
            raise
        with suppress(Changed), self._store.locked(key, found.version) as lease:
            ended = self._store.now() if cell.state in states.TERMINAL else 0.0
            self._pasts.write(task_id, past.then(cell, ended=ended))
            lease.delete()
            return cell
        return None

    def standing(self, task_id: str, past: Past) -> Cell:
        """Of a task that nobody holds: what its witness, or else its past, says."""
        cell = past.cell
        if self._frontier.is_done(task_id):
            return cell if cell.state is State.COMPLETED else Cell(State.COMPLETED, cell.epoch)
        if cell.state is State.COMPLETED:
            return self._unwitnessed(past) if self._surely_gone(past) else cell
        if cell.state is State.SCHEDULED and cell.due <= self._store.now():
            return states.promote(cell)
        source = self._frontier.source(task_id)
        settles = self._frontier.settles_at(source) if source else None
        if cell.state is State.READY and settles is not None:
            return cell._replace(state=State.SCHEDULED, due=settles)
        return cell

    def unwitness(self, task_id: str) -> bool:
        """Remove a witness of our own make, so that the task runs again; False when it is somebody else's."""
        path = self._frontier.witness(task_id)
        with refusals(path):
            try:
                with open(path, "rb") as file:
                    record = decode(file.read())
                if record["task"] != task_id or "epoch" not in record:
                    return False
                os.unlink(path)
            except (BadInput, KeyError, TypeError, FileNotFoundError):
                return False
        return True

    def purge(self, state: State, before: float) -> int:
        """Forget what ended in this state before that time, of files that are gone."""
        removed = 0
        for task_id in self._pasts.ids(FOLDERS[state]):
            past = self._pasts.read(task_id)
            gone = self._frontier.source(task_id) is None
            if gone and past.cell.state is state and past.ended <= before:
                self._pasts.forget(task_id)
                removed += 1
        return removed

    def _testify(self, task_id: str, record: Record, result: object) -> None:
        """Write the witness. One that is there already stays: it may be what the task was to make."""
        holder = record.holder
        body = {
            "task": task_id,
            "worker": holder.worker if holder else record.cell.holder,
            "epoch": record.cell.epoch,
            "claimed_at": iso(holder.since) if holder else None,
            "completed_at": iso(self._clock.wall()),
            "result": result,
        }
        path = self._frontier.witness(task_id)
        with refusals(path):
            if not place(path, encode(body)) and not self._frontier.is_done(task_id):
                raise StorageError(
                    f"cannot write witness {path}: something that is no file is in its place; move it away"
                )
