"""The Queue contract over any store: cells by compare-and-set, markers to find them by (see `layout`)."""

import os
import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any

from dibs import states
from dibs.clock import SYSTEM, Clock
from dibs.errors import LeaseLost, Refused, StorageError, TaskNotFound
from dibs.facets import Filter, make_filter
from dibs.host import Host
from dibs.keys import Keys
from dibs.lease import Held, Lost, Record
from dibs.liveness import Verdict
from dibs.queues.held import Lease
from dibs.queues.leased import LeasedQueue, Look
from dibs.queues.pausing import Pausing
from dibs.queues.stored.body import Body, Known, body_of
from dibs.queues.stored.cells import Cells, event
from dibs.queues.stored.claimer import Claimer
from dibs.queues.stored.discovery import Discovery, Listing
from dibs.queues.stored.known_facets import KnownFacets
from dibs.queues.stored.lanes import Lanes
from dibs.queues.stored.layout import Marker, cell_key, parse_marker
from dibs.queues.stored.looks import Looks
from dibs.queues.stored.pusher import Pusher
from dibs.queues.stored.root import open_root
from dibs.queues.stored.steps import Steps
from dibs.queues.stored.upkeep import Upkeep
from dibs.queues.stored.waits import Waits
from dibs.queues.views import Claim, Detail, Stats
from dibs.redact import redact
from dibs.states import Cell, State
from dibs.stores.store import Changed, Store, Unsure
from dibs.task import Task, checked_number, encode, is_id, new_id

if TYPE_CHECKING:
    from dibs.queues.gate import Gate


class StoredQueue(LeasedQueue):
    """A queue in a store."""

    fresh_seconds = 1.0  # how long what was listed is used
    upkeep_seconds = 1.0  # how often, at most, a claimer looks for what has expired or become due
    asking_is_cheap = False  # then what others may have changed is asked every time, not now and then

    def __init__(
        self,
        url: str,
        store: Store,
        *,
        retention: float | None = None,
        create: bool = True,
        pid: int | str | None = "self",
        process: Callable[[], int] = os.getpid,
        clock: Clock = SYSTEM,
        host: Host | None = None,
        rng: random.Random | None = None,
    ) -> None:
        super().__init__(url, store, pid=pid, process=process, clock=clock, host=host, rng=rng)
        kept = open_root(store, redact(url), clock, create=create, retention=retention)
        self._store = store
        self._lanes = Lanes(store.lanes)
        self._cells = cells = Cells(self._leases)
        self._keys = Keys(store, clock=clock, rng=self.rng, host=self.host, process=process)
        asking = 0.0 if self.asking_is_cheap else self.fresh_seconds
        self._waits = Waits(store, clock, self._keys.lookup, cells.state_of, fresh_seconds=asking)
        self._facets = KnownFacets(store)
        self._steps = Steps(cells, self._keys, self._waits, clock, self.rng, cells.state_of)
        self._pusher = Pusher(
            cells, self._keys, self._waits, self._facets, self._steps.withdraw, lambda: new_id(self.clock)
        )
        self._upkeep = Upkeep(
            cells, self._steps, self._leases, self._watch, clock, every_seconds=self.upkeep_seconds, retention=kept
        )
        self._discovery = self._make_discovery()
        cells.ready = self._discovery.ready
        self._claimer = Claimer(cells, self._keys, self._steps, self._upkeep, self._holder)
        self._claimer.freed = self._discovery.forget
        self._upkeep_lock = Lock()
        self._upkeep_at = float("-inf")
        self._looks = Looks(cells, self._facets, clock, self.host)
        self._pausing = Pausing(store, clock, fresh_seconds=asking)

    def _cell_key(self, task_id: str) -> str:
        return cell_key(task_id)

    def _make_discovery(self) -> Discovery:
        return Listing(self._store, self.clock, self.rng, self._facets.get, self.fresh_seconds)

    # Push

    def _insert(self, tasks: list[Task]) -> list[Task]:
        pushed = self._pusher.push(tasks, self.store_time())
        for number, task in enumerate(pushed):
            if task.after and not task.duplicate and self._steps.unblock(task.id):
                known = self._cells.read(task.id)
                pushed[number] = task if known is None else task.standing(known.cell)
        self._discovery.pushed(max(task.priority for task in pushed))
        return pushed

    # Claim

    def _take(self, limit: int, ttl: float, wanted: Filter) -> list[Lease]:
        self._claimer.give_back_doubted()
        self._run_upkeep()
        if self._pausing.seen():
            return []
        leases: list[Lease] = []
        trouble: StorageError | None = None
        look = Look()
        while len(leases) < limit:
            most = min(limit - len(leases), self._lanes.many)
            found = self._discovery.some(most, wanted, look)
            if not found:
                if leases or not self._run_upkeep():
                    break
                look = Look()
                continue
            for marker, lease in zip(found, self._lanes.each(partial(self._try, ttl), found), strict=True):
                if isinstance(lease, Lease):
                    leases.append(lease)
                elif lease is None:
                    self._discovery.missed(marker, wanted)
                else:
                    trouble = lease
            if trouble is not None:
                if not leases:
                    raise trouble
                break  # what was claimed is not given up for what was not
        return leases

    def _try(self, ttl: float, marker: Marker) -> Lease | StorageError | None:
        try:
            taken = self._claimer.claim(marker, ttl)
            return None if taken is None else self._taken(taken)
        except StorageError as error:
            return error

    def _taken(self, taken: Known) -> Lease | None:
        held = self._leases.held(cell_key(taken.task.id), taken.seen)
        with self._claimer.doubts.about((taken.task.id, held.session)):
            lease = self._lease_of(self._cells.whole(taken), held)
        if self.clock.boottime() >= held.deadline:  # we slept: others may already be taking it over
            with suppress(LeaseLost):
                self.release(lease)
            return None
        return lease

    def _run_upkeep(self) -> bool:
        now = self.clock.boottime()
        if now < self._upkeep_at or not self._upkeep_lock.acquire(blocking=False):
            return False
        try:
            self._upkeep_at = now + self.upkeep_seconds
            changed = self._upkeep.run()
        finally:
            self._upkeep_lock.release()
        if changed:
            self._discovery.forget()
        return changed

    # Steps of a holder

    def lease(self, task_id: str, epoch: int) -> Lease:
        known = self._known(task_id)
        if known.cell.state is not State.CLAIMED or known.cell.epoch != epoch:
            raise self._lost_to(known.task.id, epoch, known.seen.record)
        return self._lease_of(self._cells.whole(known), self._leases.held(cell_key(known.task.id), known.seen))

    def complete(self, lease: Lease, result: Any = None) -> None:
        encode(result)
        done = self._finish(lease, "completed", states.complete, result=result)
        if done is not None:
            with suppress(StorageError):  # it is completed; what waited for it is found by the next upkeep
                self._free_waiting(done.body.task)

    def complete_many(self, leases: Iterable[Lease]) -> list[Lease]:
        return [
            lost
            for part in self._lanes.each(lambda lease: super(StoredQueue, self).complete_many([lease]), leases)
            for lost in part
        ]

    def release(self, lease: Lease, delay: float = 0.0) -> None:
        checked_number("delay", delay, 0)
        due = self.store_time() + delay if delay else 0.0
        self._finish(lease, "", lambda cell: states.release(cell, due))

    def fail(self, lease: Lease, error: str, *, retry: bool = True) -> None:
        task = lease.task

        def failed(cell: Cell) -> Cell:
            wait = states.backoff(task.backoff, task.max_backoff, cell.attempts + 1, self.rng)
            due = self.store_time() + wait if wait else 0.0
            return states.fail(cell, task.max_attempts if retry else 0, due)

        self._finish(lease, "failed", failed, error=error)

    def _finish(
        self, lease: Lease, what: str, follow: Callable[[Cell], Cell], error: str = "", result: Any = None
    ) -> Known | None:
        """The task after the step; None when that was done before and only its answer was lost."""
        held: Held = lease.token
        now = round(self.clock.wall(), 3)
        before, after = "", Body(lease.task)

        def change(record: Record) -> Record:
            nonlocal before, after
            known = Known(body_of(record, lease.task), held.seen)
            before = known.marker
            cell = follow(record.cell)
            noted = event(known, what, now, error, result) if what else None
            ended = self.store_time() if cell.state in states.TERMINAL else 0.0
            after = known.body.moved(noted, ended)
            return Record(cell, data=after.to_data())

        try:
            seen = held.step(change)
        except Lost as lost:
            if held.unsure and what == "completed" and lost.now is not None and _completed_by(held, lost.now.cell):
                return None
            lease.state = "lost"
            raise self._lost_to(lease.id, lease.epoch, lost.now) from None
        except Unsure:
            lease.deadline = 0.0  # nobody knows whether it is still held: renew, or take the step again, to find out
            raise
        done = Known(after, seen)
        self._upkeep.ended(before)
        self._cells.mark(before, done)
        if done.cell.state is State.READY:
            self._discovery.forget()
        return done

    def _expire(self, task_id: str, held: Held, verdict: Verdict) -> None:
        known = self._cells.known(held.seen)
        if known is not None:
            self._steps.expire(known, verdict)
            self._discovery.forget()

    def _free_waiting(self, task: Task) -> None:
        if self._waits.anybody():
            for waiting in self._waits.waiting_for(task):
                if self._steps.unblock(waiting):
                    self._discovery.forget()

    # Look

    def store_time(self) -> float:
        return self._store.now()

    def get(self, ref: str) -> Task:
        return self._looks.shown(self._known(ref))

    def tasks(
        self,
        state: str | None = None,
        *,
        project: str | None = None,
        labels: Iterable[str] = (),
        limit: int | None = None,
    ) -> Iterator[Task]:
        return self._looks.tasks(state, make_filter(project, labels), limit)

    def claimed(self) -> list[Claim]:
        return self._looks.claims()

    def stats(self) -> Stats:
        return self._looks.stats(self.paused)

    def detail(self, ref: str) -> Detail:
        known = self._known(ref)
        return self._looks.detail(known, self._waits.standing(known.body.task), self.paused)

    def _known(self, ref: str) -> Known:
        task_id = ref if is_id(ref) else self._keys.lookup(ref)
        known = None if task_id is None else self._cells.read(task_id)
        if known is None:
            left = self._cells.read_any(task_id) if task_id is not None else None
            leaving = left.body.leaving if left is not None else None
            where = f"it is on its way to {leaving.to}" if leaving else "`dibs list` shows what there is"
            raise TaskNotFound(f"no task with id or key {ref!r} in {redact(self.url)}; {where}")
        return known

    # Steer

    def cancel(self, ref: str) -> Task:
        while True:
            try:
                return self._cells.whole(self._steps.cancel(self._known(ref)))
            except Changed:
                continue

    def retry(self, ref: str) -> Task:
        while True:
            try:
                retried = self._steps.retry(self._known(ref))
            except Changed:
                continue
            self._discovery.forget()
            return self._cells.whole(retried)

    def _prioritise(self, ref: str, priority: int) -> Task:
        while True:
            known = self._known(ref)
            try:
                moved = self._steps.prioritise(known, priority, self._facets.register)
            except Changed:
                continue
            self._discovery.forget()
            return self._cells.whole(moved)

    def pause(self, reason: str = "") -> None:
        self._pausing.pause(reason)

    def resume(self) -> None:
        self._pausing.resume()

    @property
    def paused(self) -> str | None:
        return self._pausing.reason()

    def purge(self, state: State | str = State.COMPLETED, *, older_than: float = 3600.0) -> int:
        if state not in states.TERMINAL:
            raise Refused(f"cannot purge tasks that are {state}; only completed, failed or cancelled ones")
        before = self.store_time() - older_than if older_than > 0 else float("inf")  # clocks of stores are coarse
        return self._steps.purge(State(state), before)

    # Move

    def gate(self) -> "Gate":
        from dibs.queues.stored.admitting import Admitter  # only moving needs these
        from dibs.queues.stored.departing import Departing
        from dibs.queues.stored.gate import StoredGate

        departing = Departing(self._cells, self._looks, self._keys, self._waits)
        admitter = Admitter(
            self._cells, self._keys, self._waits, self._facets, self._steps, self.clock, self._pusher.find
        )
        return StoredGate(
            self.address, self._cells, self._keys, departing, admitter, self._tend, self._discovery.forget
        )

    def _tend(self) -> None:
        """As a claimer does who has met every held task: first leases are found by their seeds only."""
        for known in self._looks.known(State.CLAIMED):
            marker = parse_marker(known.marker)
            if marker is not None and marker.seed:
                self._upkeep.watch(marker, known)
        self._run_upkeep()


def _completed_by(held: Held, cell: Cell) -> bool:
    return cell.state is State.COMPLETED and (cell.epoch, cell.holder) == (held.epoch, held.session)
