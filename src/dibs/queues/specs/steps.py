"""The steps of a spec. Its lock file is the lock for all that dibs writes of it: its status, and what is kept of it.

    claim     create the lock (it appears whole, for one creator). Look again: status, dependencies, time. Then it
              becomes a lease at the next epoch, and the file says so
    finish    under the lock file's own lock, from the version held: status, what is kept, and the lock away
    expire    the same, from the version judged
    steward   a lock of no epoch, for a moment, for whoever steers a spec that nobody holds

A step that dies half-way leaves the lock, and so a holder that is gone: whoever expires it finds in the file how far
it came. A status that a person has set meanwhile stands: the holder of a spec that was ended by hand has lost it.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from dibs import states
from dibs.clock import Clock
from dibs.errors import BadInput, Refused, StorageError, TaskNotFound
from dibs.lease import Held, Leases, Record, Seen
from dibs.liveness import Holder, Verdict
from dibs.queues.lockfiles.ending import claim_record, event, expired
from dibs.queues.lockfiles.limits import Limits
from dibs.queues.lockfiles.past import Past, Pasts
from dibs.queues.specs.ledger import KEPT, lock_key
from dibs.queues.specs.pages import Page, Pages
from dibs.queues.specs.standing import ENDED, broke_off, claimed, ended_by, standing, went, written
from dibs.queues.specs.tasks import prioritised, task_of
from dibs.specs.badspec import BadSpec
from dibs.specs.statuses import Status
from dibs.states import TERMINAL, Cell, State
from dibs.stores.files import FileStore
from dibs.stores.store import Changed, Exists, Unsure
from dibs.task import Task
from dibs.values import replace

UNBORN_SECONDS = 60.0
Follow = Callable[[Cell], Cell]


class Steps:
    def __init__(
        self,
        store: FileStore,
        leases: Leases,
        pasts: Pasts,
        pages: Pages,
        met: Callable[[str], bool],
        clock: Clock,
        rng: random.Random,
        limits: Limits,
    ) -> None:
        self._store = store
        self._leases = leases
        self._pasts = pasts
        self._pages = pages
        self._met = met
        self._clock = clock
        self._rng = rng
        self._limits = limits

    def claim(self, task_id: str, holder: Holder) -> tuple[Task, Held] | None:
        if self._claimable(task_id) is None:
            return None
        key = lock_key(task_id)
        try:
            # Of no epoch, so it is no lease yet for anybody: the spec is looked at again before it becomes one.
            unborn = self._unborn(task_id, holder)
            found = self._leases.create(key, unborn)
            with self._gone_if_refused(key, found):
                self._pages.refresh()
                free = self._claimable(task_id)
            if free is None:
                self._store.delete_if(key, found.version)
                return None
            page, cell = free
            task = task_of(page.spec, self._limits, page.data)
            found = self._leases.swap(key, found.version, self._record(task, cell, holder))
        except (Exists, Changed):
            return None
        try:
            # Under the lock's own lock: who is stopped in the middle must not write when another one has finished it.
            with self._store.locked(key, found.version) as lock:
                taken = self._written(page, cell, holder, found.record)
                if taken is None:
                    self._settle(task_id, self._readable(task_id), found.record, self._pasts.read(task_id))
                    lock.delete()
                    return None
        except Changed:
            return None
        except Unsure:
            raise  # it may be claimed now: the queue has it in doubt, and looks at the branch
        except StorageError:  # which may have come after the deed
            with suppress(StorageError, Changed):
                self.finish(task_id, found, states.release, "")
            raise
        return task_of(taken.spec, self._limits, taken.data), self._leases.held(key, found)

    def _written(self, page: Page, cell: Cell, holder: Holder, record: Record) -> Page | None:
        """The file as it was when the claim was written into it; None when it is not to be had any more."""
        while True:
            try:
                self._pages.change(page, self._fields(holder, record))
                return page
            except BadSpec:
                return None
            except Changed:  # somebody has saved the file since it was read
                free = self._claimable(page.spec.id)
                if free is None or free[1] != cell:
                    return None
                page = free[0]

    def _readable(self, task_id: str) -> Page | None:
        try:
            return self._pages.read(task_id)
        except BadSpec:
            return None

    def _unborn(self, task_id: str, holder: Holder) -> Record:
        """For a moment only, so that one who dies in it is not waited for long."""
        brief = replace(holder, ttl=min(holder.ttl, UNBORN_SECONDS))
        return Record(Cell(State.CLAIMED, holder=holder.session), brief, data={"task": task_id})

    def _check_ours(self, key: str) -> None:
        try:
            self._leases.read(key)
        except BadInput:
            path = f"{self._store.root}/{key}"
            raise Refused(f"locked by another tool: {path}; end its work first, or remove that file") from None

    def _record(self, task: Task, cell: Cell, holder: Holder) -> Record:
        return claim_record(task.id, cell, holder, task.max_runtime)

    def _fields(self, holder: Holder, record: Record) -> dict[str, Any]:
        """What a claim writes into the file."""
        return claimed(holder)

    def _claimable(self, task_id: str) -> tuple[Page, Cell] | None:
        """The spec and where it stands, if it is ready."""
        page = self._readable(task_id)
        if page is None or page.spec.status is not Status.PENDING:
            return None
        cell = self.standing(page, self._pasts.read(task_id))
        return (page, cell) if cell.state is State.READY else None

    def finish(
        self,
        task_id: str,
        seen: Seen,
        follow: Follow,
        what: str,
        error: str = "",
        result: object = None,
    ) -> Cell:
        """Raises Changed when the lease is no longer as seen, or a person has ended the spec meanwhile."""
        record = seen.record
        cell = follow(record.cell)
        with self._store.locked(lock_key(task_id), seen.version) as lock:
            self._pages.refresh()
            page = self._pages.read(task_id)
            past = self._pasts.read(task_id)
            again = page is not None and self._again(page, record, cell)
            if page is None or (self.lost(page, record) and not again):
                self._settle(task_id, page, record, past)
                lock.delete()
                raise Changed(task_id)
            if again:
                cell = went(page.spec, record.cell, self._store.now())
            else:
                self._pages.change(page, written(page.spec, cell, error, self._clock.wall()))
            happened = event(self._clock, record, what, error, result) if what else None
            self._pasts.write(task_id, past.then(cell, happened, self._ended(cell)))
            lock.delete()
        return cell

    def lost(self, page: Page, record: Record) -> bool:
        """Whether the file says that this lease is over."""
        return page.spec.status in ENDED

    def _again(self, page: Page, record: Record, cell: Cell) -> bool:
        """Whether this very step was done before, as far as the file, and then broke off."""
        spec = page.spec
        if cell.state is State.COMPLETED:
            return ended_by(spec, record.holder)
        failed = spec.attempts == cell.attempts > record.cell.attempts
        put_back = spec.status is Status.PENDING and cell.state is not State.FAILED
        return failed and (spec.status is Status.FAILED or put_back)

    def _ended(self, cell: Cell) -> float:
        return self._store.now() if cell.state in TERMINAL else 0.0

    def expire(self, task_id: str, seen: Seen, verdict: Verdict) -> bool:
        """The holder is gone. False when somebody else was faster, or it lives after all.
        Nobody is waited for: another one may have been stopped in the middle of a step."""
        try:
            with self._store.locked(lock_key(task_id), seen.version, patience=0.0) as lock:
                self._pasts.settle(task_id)
                past = self._pasts.read(task_id)
                if seen.record.cell.epoch > past.cell.epoch:  # else it never got as far as being a lease
                    self._give_back(task_id, seen.record, past, verdict)
                lock.delete()
        except Changed:
            return False
        return True

    def _give_back(self, task_id: str, record: Record, past: Past, verdict: Verdict) -> None:
        self._pages.refresh()
        try:
            page = self._pages.read(task_id)
        except BadSpec:
            raise Changed(task_id) from None  # not before it can be read again, or is gone
        if page is None or self.lost(page, record) or broke_off(page.spec, record.cell, self._store.now()):
            self._settle(task_id, page, record, past)
            return
        task = task_of(page.spec, self._limits)
        cell, happened = expired(record, task, verdict, self._store.now(), self._clock, self._rng)
        error = happened.error if cell.state is State.FAILED or happened.what == "timed out" else ""
        with suppress(BadSpec):  # then the file stays as it is, and `why` says so
            self._pages.change(page, written(page.spec, cell, error, self._clock.wall()))
        self._pasts.write(task_id, past.then(cell, happened, self._ended(cell)))

    def _settle(self, task_id: str, page: Page | None, record: Record, past: Past) -> None:
        """Keep what the file says to have become of a lease: by a step that broke off, or by hand."""
        spec = page.spec if page else None
        cell = went(spec, record.cell, self._store.now())
        done = spec is not None and ended_by(spec, record.holder)
        happened = event(self._clock, record, "completed") if done else None
        self._pasts.write(task_id, past.then(cell, happened, self._ended(cell)))

    def prioritise(self, task_id: str, holder: Holder, priority: int) -> Cell | None:
        return self.steward(task_id, holder, states.prioritise, priority=priority)

    def steward(
        self, task_id: str, holder: Holder, follow: Follow, *, only: bytes | None = None, priority: int | None = None
    ) -> Cell | None:
        """A step of a spec that nobody holds; None when somebody does, or the file is not `only` what it was.
        Raises Refused as `follow` does. `priority`: that is all that changes."""
        key = lock_key(task_id)
        try:
            found = self._leases.create(key, self._unborn(task_id, holder))
        except Exists:
            self._check_ours(key)
            return None
        with self._gone_if_refused(key, found):
            self._pages.refresh()
            page = self._pages.read(task_id)
            if page is None:
                raise TaskNotFound(f"no spec {task_id!r} any more; `dibs specs list` shows what there is")
            past = self._pasts.read(task_id)
            cell = follow(self.standing(page, past))
            changes = written(page.spec, cell, "", self._clock.wall()) if priority is None else prioritised(priority)
        with (
            suppress(Changed),
            self._gone_if_refused(key, found),
            self._store.locked(key, found.version) as lock,
        ):
            if only is not None and page.data != only:
                raise Changed(task_id)
            past = self._caught_up(task_id, page, past)
            self._pages.change(page, changes)
            if priority is None:
                self._pasts.write(task_id, past.then(cell, ended=self._ended(cell)))
            lock.delete()
            return cell
        with suppress(Changed):
            self._store.delete_if(key, found.version)
        return None

    def _caught_up(self, task_id: str, page: Page, past: Past) -> Past:
        """What is kept of a spec that was ended by a step that broke off, or by hand. Without it, a retry that breaks
        off as well would not be seen to be one."""
        if page.spec.status not in ENDED or past.cell.state in TERMINAL:
            return past
        cell = self.standing(page, past)
        self._pasts.write(task_id, past.then(cell, ended=self._ended(cell)))
        return self._pasts.read(task_id)

    @contextmanager
    def _gone_if_refused(self, key: str, found: Seen) -> Iterator[None]:
        """A lock of no epoch does not outlive a step that is refused, or that the disk or the remote fails."""
        try:
            yield
        except (Refused, TaskNotFound, BadSpec, StorageError):
            with suppress(Changed, StorageError):
                self._store.delete_if(key, found.version)
            raise

    def standing(self, page: Page, past: Past) -> Cell:
        """Of a spec that nobody holds."""
        return standing(page.spec, past, self._met, self._store.now())

    def purge(self, state: State, before: float) -> int:
        """Forget what ended in this state before that time, of files that are gone."""
        removed = 0
        for task_id in self._pasts.ids(KEPT):
            past = self._pasts.read(task_id)
            if past.cell.state is state and past.ended <= before and self._gone(task_id):
                self._pasts.forget(task_id)
                removed += 1
        return removed

    def _gone(self, task_id: str) -> bool:
        try:
            return self._pages.read(task_id) is None
        except BadSpec:
            return False
