"""The Queue contract over a folder of markdown specs.

    .dibs/specs/ID.md         a task: YAML frontmatter with its status and all else that dibs knows of it, and a text
    .dibs/.locks/ID.pid       who holds it on this machine; ignored by git
    .dibs/.locks/past/ID.json its last epoch, how its leases ended, results: nothing that the queue is derived from

Ready is what is pending, approved and due, with its dependencies completed, and not locked. A status set by hand
counts like any other.
"""

import os
import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

from dibs import states
from dibs.clock import SYSTEM, Clock
from dibs.errors import BadInput, Refused, TaskNotFound
from dibs.facets import Filter, make_filter
from dibs.host import Host
from dibs.lease import Record
from dibs.liveness import Holder
from dibs.queues.held import Lease
from dibs.queues.leased import Look
from dibs.queues.lockfiles.lockqueue import LockQueue, Upkeep
from dibs.queues.lockfiles.lockqueue import Steps as LockSteps
from dibs.queues.lockfiles.past import Past, Pasts
from dibs.queues.lockfiles.placing import place
from dibs.queues.pausing import Pausing
from dibs.queues.specs.catalogue import Catalogue, Scanning
from dibs.queues.specs.ledger import KEPT, Ledger, LockLedger, lock_key
from dibs.queues.specs.locks import LockRecovery, described
from dibs.queues.specs.looks import Known, Looks
from dibs.queues.specs.pages import FilePages, Page, Pages
from dibs.queues.specs.settings import Settings, parse
from dibs.queues.specs.standing import ours
from dibs.queues.specs.steps import Steps
from dibs.queues.specs.tasks import page_of
from dibs.queues.specs.telling import reasons
from dibs.queues.stored.root import open_root
from dibs.queues.views import Capabilities, Claim, Detail, Stats, Why
from dibs.specs.badspec import BadSpec
from dibs.specs.catalog import Catalog
from dibs.specs.ids import resolve
from dibs.specs.listing import Listing
from dibs.specs.statuses import Status
from dibs.specs.view import View
from dibs.states import Cell, State
from dibs.stores.occupied import refuse_occupied, refuse_occupied_leases
from dibs.stores.refusal import refusals
from dibs.stores.shared import file_store
from dibs.stores.store import Store
from dibs.task import Task
from dibs.values import replace

PATIENCE_SECONDS = 1.0
STEWARD_SECONDS = 10.0


AnyLooks = TypeVar("AnyLooks", bound=Looks)
WAY = "git"  # beside the locks: how this clone claims


class SpecSteps(LockSteps, Protocol):
    def lost(self, page: Page, record: Record) -> bool:
        """Whether the file says that this lease is over."""
        ...

    def standing(self, page: Page, past: Past) -> Cell:
        """Where a spec stands that nobody holds."""
        ...

    def prioritise(self, task_id: str, holder: Holder, priority: int) -> Cell | None:
        """Of a spec that waits; None when somebody holds it, or has at this moment."""
        ...


class SpecsQueue(LockQueue):
    """A queue that is a folder of specs."""

    capabilities = Capabilities(owned=False, admits=False)
    idle_seconds = 1.0
    _steps: SpecSteps

    @classmethod
    def open(cls, url: str, path: str, settings: dict[str, str], **options: Any) -> "SpecsQueue":
        parsed = parse(url, path, settings)
        if parsed.git == "refs":
            from dibs.queues.specs.refs import RefsQueue

            return RefsQueue(url, parsed, **options)
        if parsed.git == "push":
            from dibs.queues.specs.push import PushQueue

            return PushQueue(url, parsed, **options)
        return cls(url, parsed, **options)

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
            raise BadInput(f"no folder of specs at {settings.folder}; `dibs specs init` makes one")
        refuse_occupied(settings.folder, "a folder of specs", only_ours=True)
        refuse_occupied_leases(settings.locks)
        if create:
            _make_locks(settings.locks)
        self._store = store = file_store(settings.locks, clock=clock)
        leases = self._lease_store(settings, clock)
        super().__init__(url, leases, memory=store, pid=pid, process=process, clock=clock, host=host, rng=rng)
        if create or os.path.isdir(settings.locks):
            open_root(store, url, clock, create=create, retention=None)
        self.folder = settings.folder
        self.stale = settings.stale
        self.git = settings.git
        if create and self.git and store.get(WAY) is None:
            store.put(WAY, f"{self.git}\n".encode())
        self._pages, listing = self._make_pages(settings)
        self._ledger, self._steps, self._recovery = self._make_steps(settings)
        self._catalogue = catalogue = Catalogue(listing, settings.folder, self._ledger.over)
        self._scanning = Scanning(catalogue, self.store_time, clock)
        self._limits = settings.limits
        self._looks = self.looks(Looks, catalogue, self._ledger)
        self._pausing = Pausing(store, clock, fresh_seconds=0.0)

    def looks(self, kind: type[AnyLooks], catalogue: Catalogue, ledger: Ledger) -> AnyLooks:
        """What it shows, put together from these."""
        return kind(
            catalogue, self._pages, ledger, self._steps.standing, self._steps.lost, self._limits, self.store_time,
            self.clock, self.host,
        )  # fmt: skip

    # What differs where claims go through git

    def _lease_store(self, settings: Settings, clock: Clock) -> Store:
        return self._store

    def _make_pages(self, settings: Settings) -> tuple[Pages, Callable[[], Listing]]:
        return FilePages(settings.folder, f"{settings.locks}/tmp"), Catalog(settings.folder, clock=self.clock).specs

    def _make_steps(self, settings: Settings) -> tuple[Ledger, SpecSteps, Upkeep]:
        store, leases = self._store, self._leases
        pasts = Pasts(store, leases, dict.fromkeys(State, KEPT))
        steps = Steps(store, leases, pasts, self._pages, self._met, self.clock, self.rng, settings.limits)
        recovery = LockRecovery(store, leases, self._watch, steps, host=self.host, stale=settings.stale)
        return LockLedger(leases, pasts, recovery.held), steps, recovery

    def store_time(self) -> float:
        return self._leases.store.now()

    def _cell_key(self, task_id: str) -> str:
        return lock_key(task_id)

    def _describe(self, holder: Holder) -> dict[str, Any]:
        return described(holder)

    # Push

    def _insert(self, tasks: list[Task]) -> list[Task]:
        pages = [page_of(task, self.clock) for task in tasks]
        added = self._pages.add(pages)
        self._scanning.forget()
        self._ledger.over()
        pushed = []
        for task, (name, _) in zip(tasks, pages, strict=True):
            known = self._looks.glance(name) or self._known(name)
            if name in added:
                added.discard(name)
                pushed.append(known.task)
            elif known.cell.state is State.COMPLETED and task.unique != "completed":
                raise Refused(f"spec {name!r} is completed, and a spec's id is for ever; push it under another key")
            else:
                pushed.append(replace(known.task, duplicate=True))
        return pushed

    # Claim

    def _steer(self, ref: str, follow: Callable[[Cell], Cell]) -> Task:
        self._run_upkeep(self.idle_upkeep_seconds)  # a lock that counts no longer need not be asked
        return super()._steer(ref, follow)

    def _prioritise(self, ref: str, priority: int) -> Task:
        while True:
            self._run_upkeep(self.idle_upkeep_seconds)
            known = self._known(ref)
            states.prioritise(known.cell)
            if known.task.priority == priority:
                return known.task
            cell = self._steps.prioritise(ref, self._holder(STEWARD_SECONDS), priority)
            if cell is not None:
                self._scanning.forget()
                return replace(known.task.standing(cell), priority=priority)
            self.clock.sleep(0.01)

    def _next(self, look: Look, wanted: Filter) -> str | None:
        return self._scanning.next(look, wanted)

    def claim_one(self, task_id: str, ttl: float) -> Lease:
        """The lease of this very spec. Refused says why it cannot be had."""
        self._run_upkeep(0.0)
        end = self.clock.boottime() + PATIENCE_SECONDS
        while True:
            lease = None if self.paused is not None else self._claim(task_id, ttl)
            if lease is not None:
                return lease
            why = self.why(task_id)
            if why.state is not State.READY or self.paused is not None or self.clock.boottime() > end:
                raise Refused(f"spec {task_id} cannot be claimed: " + why.text.replace("\n", "; "))
            self.clock.sleep(0.01)  # an editor has just saved it, or somebody is trying its lock

    def _finish(self, lease: Lease, *args: Any, **more: Any) -> None:
        end = self.clock.boottime() + PATIENCE_SECONDS
        while True:
            try:
                return super()._finish(lease, *args, **more)
            except BadSpec as error:  # an editor is just writing it; or somebody has to mend it first
                if self.clock.boottime() > end:
                    raise self._unreadable(lease.id, error) from None
                self.clock.sleep(0.01)

    def own_epoch(self, task_id: str) -> int | None:
        """The epoch at which this user holds the spec on this machine, with no worker of his running it."""
        known = self._known(task_id)
        holder = known.lease.holder if known.lease else None
        if holder is None or holder.guard is not None or holder.machine != self.host.machine:
            return None
        return known.cell.epoch if self._is_own(known, holder) else None

    def _is_own(self, known: Known, holder: Holder) -> bool:
        return ours(known.page.spec, holder)

    def free(self, ref: str) -> Task:
        """Give it back, whoever has it: by a lease, which he then has lost, by hand, or on another machine."""
        return self._steer(ref, states.release)

    @property
    def other_way(self) -> str | None:
        """How this clone has claimed through git before, if not as now."""
        entry = self._store.get(WAY)
        way = entry.data.decode("ascii", "replace").strip() if entry else None
        return None if way == self.git else way

    def resolve(self, ref: str) -> str:
        """The id that a unique part of it means."""
        return resolve(ref, self._catalogue.listing().places)

    def view(self) -> View:
        """Everything there is, for whoever lists it."""
        return self._catalogue.view(self.store_time())

    def path(self, task_id: str) -> str:
        return self._pages.path(task_id)

    def _record_now(self, task_id: str) -> Record | None:
        try:
            known = self._looks.known(task_id)
        except BadSpec:
            return None
        if known is None:
            return None
        return known.lease or Record(known.cell._replace(holder=known.page.spec.started_by or "somebody"))

    def stdin(self, lease: Lease) -> bytes:
        """The spec itself."""
        page = self._pages.read(lease.id)
        return super().stdin(lease) if page is None else page.data

    def _met(self, ref: str) -> bool:
        try:
            page = self._pages.read(ref)
        except BadSpec:
            return False
        return page.spec.status is Status.COMPLETED if page else self._catalogue.archived(ref)

    # Look

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
        return self._looks.detail(self._known(ref), self.paused)

    def why(self, ref: str, **filters: Any) -> Why:
        said = super().why(ref, **filters)
        known = self._known(ref)
        foreign = f"{self._store.root}/{lock_key(ref)}" if known.foreign else ""
        more = reasons(known.page, known.cell, known.lease, self._catalogue.view(self.store_time()), foreign)
        return replace(said, text="\n".join([said.text, *more])) if more else said

    def _known(self, ref: str) -> Known:
        try:
            known = self._looks.known(ref)
        except BadSpec as error:
            raise self._unreadable(ref, error) from None
        if known is None:
            raise TaskNotFound(f"no spec {ref!r} in {self.folder}; `dibs specs list` shows what there is")
        return known

    def _unreadable(self, ref: str, error: BadSpec) -> BadInput:
        where = f"{self._pages.path(ref)}:{error.line}" if error.line else self._pages.path(ref)
        return BadInput(f"{where}: {error.reason}")


def _make_locks(folder: str) -> None:
    """The folder of locks, which git ignores by itself."""
    ignore = f"{folder}/.gitignore"
    with refusals(folder):
        os.makedirs(folder, exist_ok=True)
        if not os.path.exists(ignore):
            place(ignore, b"*\n", by_way_of=f"{folder}/tmp")
