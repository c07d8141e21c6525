"""What queues of somebody's files share: claiming, holding and finishing by a lease file.

A backend supplies what its steps are (`Steps`), where candidates come from, and what it shows (`_known`).
"""

from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import Any, Protocol

from dibs import states
from dibs.errors import BadInput, LeaseLost, Refused, StorageError
from dibs.facets import Filter
from dibs.lease import Held, Record, Seen
from dibs.liveness import Holder, Verdict
from dibs.queues.doubts import Doubts
from dibs.queues.held import Lease
from dibs.queues.leased import LeasedQueue, Look
from dibs.queues.pausing import Pausing
from dibs.states import Cell, State
from dibs.stores.files import FileStore
from dibs.stores.store import Changed
from dibs.task import Task, checked_number, encode

UPKEEP_SECONDS = 1.0
IDLE_UPKEEP_SECONDS = 0.05
LATE_SECONDS = 60.0  # after that nothing takes effect any more that was sent and not answered
Follow = Callable[[Cell], Cell]


class Steps(Protocol):
    def claim(self, task_id: str, holder: Holder) -> tuple[Task, Held] | None: ...

    def finish(
        self,
        task_id: str,
        seen: Seen,
        follow: Follow,
        what: str,
        error: str = "",
        result: object = None,
    ) -> Cell:
        """Raises Changed when the lease is no longer as seen."""
        ...

    def expire(self, task_id: str, seen: Seen, verdict: Verdict) -> bool: ...

    def steward(self, task_id: str, holder: Holder, follow: Follow) -> Cell | None:
        """A step of a task that nobody holds; None when somebody does."""
        ...

    def purge(self, state: State, before: float) -> int: ...


class Known(Protocol):
    """One task, as it is now."""

    @property
    def task(self) -> Task: ...
    @property
    def cell(self) -> Cell: ...
    @property
    def lease(self) -> Record | None: ...


class Upkeep(Protocol):
    def run(self) -> bool:
        """Give back what holders held that are gone. True when something may have become ready."""
        ...


class LockQueue(LeasedQueue):
    """Sets nothing up itself: the backend makes these four when it is opened."""

    _store: FileStore
    _steps: Steps
    _recovery: Upkeep
    _pausing: Pausing

    upkeep_seconds = UPKEEP_SECONDS
    idle_upkeep_seconds = IDLE_UPKEEP_SECONDS
    _upkeep_at = float("-inf")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._upkeep_lock = Lock()
        self._doubts: Doubts[tuple[str, str, float]] = Doubts()  # task, session, and since when

    def close(self) -> None:
        self._settle_doubts()
        super().close()

    @abstractmethod
    def _next(self, look: Look, wanted: Filter) -> str | None:
        """A task that may be ready, or None when all were looked at."""

    @abstractmethod
    def _known(self, ref: str) -> Known:
        """TaskNotFound when there is none."""

    # Claim

    def _take(self, limit: int, ttl: float, wanted: Filter) -> list[Lease]:
        self._run_upkeep(self.upkeep_seconds)
        if self._pausing.seen():
            return []
        leases: list[Lease] = []
        look = Look()
        try:
            while len(leases) < limit:
                task_id = self._next(look, wanted)
                if task_id is None:
                    if leases or not self._run_upkeep(self.idle_upkeep_seconds):
                        break
                    look = Look()
                    continue
                lease = self._claim(task_id, ttl)
                if lease is not None:
                    leases.append(lease)
        except StorageError:
            if not leases:
                raise  # else what was claimed is not given up for what was not
        return leases

    def _claim(self, task_id: str, ttl: float) -> Lease | None:
        holder = self._holder(ttl)
        try:
            taken = self._steps.claim(task_id, holder)
        except StorageError:
            self._doubts.add((task_id, holder.session, self.clock.boottime()))
            raise
        if taken is None:
            return None
        task, held = taken
        lease = self._lease_of(task.standing(held.seen.record.cell), held)
        if self.clock.boottime() >= held.deadline:  # we slept: others may already be taking it over
            try:
                self.release(lease)
            except LeaseLost:
                pass  # and one has
            return None
        return lease

    def _settle_doubts(self) -> bool:
        """True when something may have become ready."""
        before = len(self._doubts)
        with suppress(StorageError):  # it is tried again; others are claimed meanwhile, where the trouble is not theirs
            self._doubts.settle(self._give_back)
        return len(self._doubts) < before

    def _give_back(self, claim: tuple[str, str, float]) -> bool:
        """What this process may have claimed without knowing it. False while what it sent may still take effect."""
        task_id, session, since = claim
        late = self.clock.boottime() - since > LATE_SECONDS
        key = self._cell_key(task_id)
        with suppress(Changed, BadInput, Refused):  # it is over; or damaged, so that its time runs out
            found = self._leases.read(key)
            if found is None or found.record.cell.state is not State.CLAIMED:
                return late
            if found.record.cell.holder != session:
                return True
            if not found.record.cell.epoch:  # it was not yet a lease
                self._leases.store.delete_if(key, found.version)
            elif late or self._settled(task_id, found.record):
                self._steps.finish(task_id, found, states.release, "")
            else:
                return False
        return True

    def _settled(self, task_id: str, record: Record) -> bool:
        """Whether all that a claim writes is written, and nothing of it is still under way."""
        return True

    def _run_upkeep(self, every: float) -> bool:
        now = self.clock.boottime()
        if now - self._upkeep_at < every or not self._upkeep_lock.acquire(blocking=False):
            return False
        try:
            self._upkeep_at = now
            return self._settle_doubts() | self._recovery.run()
        finally:
            self._upkeep_lock.release()

    # Steps of a holder

    def lease(self, task_id: str, epoch: int) -> Lease:
        known = self._known(task_id)
        found = self._leases.read(self._cell_key(task_id)) if known.lease else None
        if found is None or found.record.cell.epoch != epoch:
            raise self._lost_to(task_id, epoch, self._record_now(task_id))
        return self._lease_of(known.task, self._leases.held(self._cell_key(task_id), found))

    def complete(self, lease: Lease, result: Any = None) -> None:
        encode(result)
        self._finish(lease, states.complete, "completed", result=result)

    def release(self, lease: Lease, delay: float = 0.0) -> None:
        checked_number("delay", delay, 0)
        due = self.store_time() + delay if delay else 0.0
        self._finish(lease, lambda cell: states.release(cell, due), "")

    def fail(self, lease: Lease, error: str, *, retry: bool = True) -> None:
        task = lease.task

        def failed(cell: Cell) -> Cell:
            wait = states.backoff(task.backoff, task.max_backoff, cell.attempts + 1, self.rng)
            due = self.store_time() + wait if wait else 0.0
            return states.fail(cell, task.max_attempts if retry else 0, due)

        self._finish(lease, failed, "failed", error=error)

    def _finish(self, lease: Lease, follow: Follow, what: str, error: str = "", result: Any = None) -> None:
        held: Held = lease.token
        while True:
            try:
                self._steps.finish(lease.id, held.seen, follow, what, error, result)
                return
            except Changed:
                if not held.refresh():  # else somebody has only renewed it for us
                    raise self._lost(lease) from None

    def _expire(self, task_id: str, held: Held, verdict: Verdict) -> None:
        self._steps.expire(task_id, held.seen, verdict)

    # Look

    def store_time(self) -> float:
        return self._store.now()

    def get(self, ref: str) -> Task:
        return self._known(ref).task

    # Steer

    def cancel(self, ref: str) -> Task:
        return self._steer(ref, states.cancel)

    def retry(self, ref: str) -> Task:
        return self._steer(ref, states.retry)

    def _steer(self, ref: str, follow: Follow) -> Task:
        while True:
            known = self._known(ref)
            follow(known.cell)
            if known.lease is None:
                cell = self._steps.steward(ref, self._holder(UPKEEP_SECONDS * 10), follow)
            else:
                cell = self._take_from_holder(ref, follow)
            if cell is not None:
                return known.task.standing(cell)
            self._run_upkeep(self.idle_upkeep_seconds)
            self.clock.sleep(0.01)

    def _take_from_holder(self, task_id: str, follow: Follow) -> Cell | None:
        found = self._leases.read(self._cell_key(task_id))
        try:
            return self._steps.finish(task_id, found, follow, "cancelled") if found else None
        except Changed:
            return None

    def pause(self, reason: str = "") -> None:
        self._pausing.pause(reason)

    def resume(self) -> None:
        self._pausing.resume()

    @property
    def paused(self) -> str | None:
        return self._pausing.reason()

    def purge(self, state: State | str = State.COMPLETED, *, older_than: float = 3600.0) -> int:
        """Here only what is kept of files that are gone: of any other, forgetting it would run it again."""
        if state not in states.TERMINAL:
            raise Refused(f"cannot purge tasks that are {state}; only completed, failed or cancelled ones")
        self._store.sweep()
        return self._steps.purge(State(state), self.store_time() - older_than)
