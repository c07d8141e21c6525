"""The Queue contract over a folder of files that stays as it is.

    FOLDER/a/b.txt                  a task; its id is a/b.txt
    FOLDER.done/a/b.txt             its witness: a file of the same path, with any content, says that it is completed
    FOLDER.leases/a%2Fb.txt.lease   who holds it
    FOLDER.leases/failed/…          what is kept of it while nobody does (see `past`)

Removing a witness makes the task ready again, at a higher epoch. Removing the file takes the task away.
"""

import os
import random
from collections.abc import Callable, Iterable, Iterator
from threading import Lock
from typing import Any

from dibs import states
from dibs.clock import SYSTEM, Clock
from dibs.errors import BadInput, LeaseLost, Refused, TaskNotFound
from dibs.facets import Filter, facet_of, make_filter
from dibs.host import Host
from dibs.lease import Held, Record
from dibs.liveness import Verdict
from dibs.queues.directory import pushing
from dibs.queues.directory.frontier import Frontier
from dibs.queues.directory.looks import Known, Looks
from dibs.queues.directory.past import Pasts
from dibs.queues.directory.recovery import Recovery
from dibs.queues.directory.scanning import Scanning
from dibs.queues.directory.settings import Settings, parse
from dibs.queues.directory.steps import Steps, lease_key
from dibs.queues.held import Lease
from dibs.queues.leased import LeasedQueue, Look
from dibs.queues.pausing import Pausing
from dibs.queues.stored.root import open_root
from dibs.queues.views import Capabilities, Claim, Detail, Stats
from dibs.states import Cell, State
from dibs.stores.files import FileStore
from dibs.stores.refusal import refusals
from dibs.stores.store import Changed
from dibs.task import Task, checked_number, encode
from dibs.values import replace

UPKEEP_SECONDS = 1.0
IDLE_UPKEEP_SECONDS = 0.05


class DirectoryQueue(LeasedQueue):
    """A queue that is a folder of files."""

    capabilities = Capabilities(
        facets=False, scheduling=False, dependencies=False, settings=False, order=False, owned=False, admits=False
    )
    idle_seconds = 0.5

    @classmethod
    def open(cls, url: str, path: str, settings: dict[str, str], **options: Any) -> "DirectoryQueue":
        return cls(url, parse(url, path, settings), **options)

    def __init__(
        self,
        url: str,
        settings: Settings,
        *,
        create: bool = True,
        pid: int | str | None = "self",
        process: Callable[[], int] = os.getpid,
        clock: Clock = SYSTEM,
        host: Host | None = None,
        rng: random.Random | None = None,
    ) -> None:
        if not os.path.isdir(settings.folder):
            raise BadInput(f"{settings.folder} is no folder; dir: needs one that exists")
        if create:
            with refusals(settings.leases):
                os.makedirs(settings.leases, exist_ok=True)
        store = FileStore(settings.leases, clock=clock)
        super().__init__(url, store, pid=pid, process=process, clock=clock, host=host, rng=rng)
        if create or os.path.isdir(settings.leases):
            open_root(store, url, clock, create=create, retention=None)
        self._store = store
        self._limits = settings.limits
        self._settle = settings.settle
        apart = (settings.done, settings.leases)
        self._frontier = frontier = Frontier(
            settings.folder, settings.done, apart, settings.settle, store.now, self.rng
        )
        self._pasts = Pasts(store, self._leases)
        self._steps = Steps(store, self._leases, self._pasts, frontier, clock, self.rng, settings.limits)
        self._recovery = Recovery(store, self._leases, self._watch, self._steps)
        self._scanning = Scanning(frontier, self._pasts, self._recovery.held, store.now)
        self._looks = Looks(
            frontier, self._leases, self._pasts, self._steps, self._recovery.held, settings.limits, clock, self.host
        )
        self._pausing = Pausing(store, clock, fresh_seconds=0.0)
        self._upkeep_lock = Lock()
        self._upkeep_at = float("-inf")

    def _cell_key(self, task_id: str) -> str:
        return lease_key(task_id)

    # Push

    def _insert(self, tasks: list[Task]) -> list[Task]:
        names = [pushing.check(task) for task in tasks]
        for task in tasks:
            encode(task.payload)
        return [self._push(task, name) for task, name in zip(tasks, names, strict=True)]

    def _push(self, task: Task, name: str) -> Task:
        added = pushing.add(self._frontier, task, name, self.store_time() - self._settle)
        known = self._known(name)
        if added or known.cell.state is not State.COMPLETED or task.unique == "completed":
            return known.task if added else replace(known.task, duplicate=True)
        if not pushing.same_content(self._frontier, task, name) or not self._steps.unwitness(name):
            raise pushing.taken(name)
        return self._known(name).task

    # Claim

    def _take(self, limit: int, ttl: float, wanted: Filter) -> list[Lease]:
        self._run_upkeep(UPKEEP_SECONDS)
        if self._pausing.seen() or not wanted(facet_of(Task(id=""))):
            return []
        leases: list[Lease] = []
        look = Look()
        while len(leases) < limit:
            task_id = self._scanning.next(look)
            if task_id is None:
                if leases or not self._run_upkeep(IDLE_UPKEEP_SECONDS):
                    break
                look = Look()
                continue
            lease = self._claim(task_id, ttl)
            if lease is not None:
                leases.append(lease)
        return leases

    def _claim(self, task_id: str, ttl: float) -> Lease | None:
        holder = self._holder(ttl)
        limit = self._limits.max_runtime
        until = None if limit is None else holder.beat + limit
        if until is not None:
            holder = replace(holder, beat=min(holder.beat, until - ttl))
        held = self._steps.claim(task_id, holder, until)
        if held is None:
            return None
        task = self._looks.task(task_id, self._frontier.source(task_id))
        lease = self._lease_of(task.standing(held.seen.record.cell), held)
        if self.clock.boottime() >= held.deadline:  # we slept: others may already be taking it over
            try:
                self.release(lease)
            except LeaseLost:
                pass  # and one has
            return None
        return lease

    def _run_upkeep(self, every: float) -> bool:
        now = self.clock.boottime()
        if now - self._upkeep_at < every or not self._upkeep_lock.acquire(blocking=False):
            return False
        try:
            self._upkeep_at = now
            return self._recovery.run()
        finally:
            self._upkeep_lock.release()

    # Steps of a holder

    def lease(self, task_id: str, epoch: int) -> Lease:
        known = self._known(task_id)
        found = self._leases.read(lease_key(task_id)) if known.lease else None
        if found is None or found.record.cell.epoch != epoch:
            raise self._lost_to(task_id, epoch, self._record_now(task_id))
        return self._lease_of(known.task, self._leases.held(lease_key(task_id), found))

    def complete(self, lease: Lease, result: Any = None) -> None:
        encode(result)
        self._finish(lease, states.complete, "completed", result=result)

    def release(self, lease: Lease, delay: float = 0.0) -> None:
        checked_number("delay", delay, 0)
        due = self.store_time() + delay if delay else 0.0
        self._finish(lease, lambda cell: states.release(cell, due), "")

    def fail(self, lease: Lease, error: str, *, retry: bool = True) -> None:
        limits = self._limits

        def failed(cell: Cell) -> Cell:
            wait = states.backoff(limits.backoff, limits.max_backoff, cell.attempts + 1, self.rng)
            due = self.store_time() + wait if wait else 0.0
            return states.fail(cell, limits.max_attempts if retry else 0, due)

        self._finish(lease, failed, "failed", error=error)

    def _finish(
        self, lease: Lease, follow: Callable[[Cell], Cell], what: str, error: str = "", result: Any = None
    ) -> None:
        held: Held = lease.token
        while True:
            try:
                self._steps.finish(lease.id, held.seen, follow, what, error, result)
                return
            except Changed:
                if not held.refresh():  # else somebody has only renewed it for us
                    raise self._lost(lease) from None

    def _record_now(self, task_id: str) -> Record | None:
        known = self._looks.known(task_id)
        return None if known is None else known.lease or Record(known.cell)

    def _expire(self, task_id: str, held: Held, verdict: Verdict) -> None:
        self._steps.expire(task_id, held.seen, verdict)

    # Look

    def store_time(self) -> float:
        return self._store.now()

    def get(self, ref: str) -> Task:
        return self._known(ref).task

    def tasks(
        self,
        state: str | None = None,
        *,
        project: str | None = None,
        labels: Iterable[str] = (),
        limit: int | None = None,
    ) -> Iterator[Task]:
        if not make_filter(project, labels)(facet_of(Task(id=""))):
            return iter(())
        return self._looks.tasks(state, limit)

    def claimed(self) -> list[Claim]:
        return self._looks.claims()

    def stats(self) -> Stats:
        return self._looks.stats(self.paused)

    def detail(self, ref: str) -> Detail:
        return self._looks.detail(self._known(ref), self.paused)

    def _known(self, ref: str) -> Known:
        known = self._looks.known(ref)
        if known is None:
            raise TaskNotFound(f"no file {ref!r} in {self._frontier.root}; `dibs list` shows what there is")
        return known

    # Steer

    def cancel(self, ref: str) -> Task:
        return self._steer(ref, states.cancel)

    def retry(self, ref: str) -> Task:
        return self._steer(ref, states.retry)

    def _steer(self, ref: str, follow: Callable[[Cell], Cell]) -> Task:
        while True:
            known = self._known(ref)
            follow(known.cell)
            if known.lease is None:
                cell = self._steps.steward(ref, self._holder(UPKEEP_SECONDS * 10), follow)
            else:
                cell = self._take_from_holder(ref, follow)
            if cell is not None:
                return known.task.standing(cell)
            self._run_upkeep(IDLE_UPKEEP_SECONDS)
            self.clock.sleep(0.01)

    def _take_from_holder(self, task_id: str, follow: Callable[[Cell], Cell]) -> Cell | None:
        found = self._leases.read(lease_key(task_id))
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
