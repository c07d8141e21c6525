"""What a `specs:` queue shows: each spec, with what its lock and what is kept of it say."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from dibs.clock import Clock
from dibs.errors import BadInput
from dibs.facets import Facet, Filter
from dibs.host import Host
from dibs.lease import Record
from dibs.queues.lockfiles.claims import claim_of
from dibs.queues.lockfiles.limits import Limits
from dibs.queues.lockfiles.past import Past
from dibs.queues.specs.catalogue import Catalogue
from dibs.queues.specs.ledger import Kept, Ledger
from dibs.queues.specs.pages import Page, Pages
from dibs.queues.specs.tasks import task_of
from dibs.queues.views import Claim, Detail, Stats
from dibs.specs.badspec import BadSpec
from dibs.specs.spec import Broken, Spec
from dibs.specs.statuses import Status
from dibs.specs.view import View
from dibs.states import LIVE, Cell, State
from dibs.task import Task
from dibs.values import replace

ORDER = (
    State.CLAIMED, State.READY, State.SCHEDULED, State.BLOCKED, State.FAILED, State.CANCELLED, State.COMPLETED,
)  # fmt: skip


class Known(NamedTuple):
    task: Task
    cell: Cell
    past: Past
    lease: Record | None
    page: Page
    foreign: bool = False  # locked by another tool


class Looks:
    def __init__(
        self,
        catalogue: Catalogue,
        pages: Pages,
        ledger: Ledger,
        standing: Callable[[Page, Past], Cell],
        lost: Callable[[Page, Record], bool],
        limits: Limits,
        now: Callable[[], float],
        clock: Clock,
        host: Host,
    ) -> None:
        self._catalogue = catalogue
        self._pages = pages
        self._ledger = ledger
        self._standing = standing
        self._lost = lost
        self._limits = limits
        self._now = now
        self._clock = clock
        self._host = host

    def known(self, task_id: str) -> Known | None:
        """As it is now: None when there is no such file. BadSpec when it cannot be read."""
        self._pages.refresh()
        page = self._pages.read(task_id)
        return None if page is None else self._known(page, self._ledger.read(task_id))

    def glance(self, task_id: str) -> Known | None:
        """As of the last look at all."""
        page = self._pages.read(task_id)
        return None if page is None else self._known(page, self._ledger.glance(task_id))

    def _known(self, page: Page, kept: Kept) -> Known:
        past, lease, foreign = kept
        # A lock of no later epoch is only being tried; one whose file says otherwise is of one who does not know yet.
        held = lease is not None and lease.cell.epoch > past.cell.epoch and not self._lost(page, lease)
        cell = lease.cell if held and lease else self._standing(page, past)
        foreign = foreign and cell.state in LIVE
        if foreign:
            cell = cell._replace(state=State.CLAIMED, due=0.0)
        task = task_of(page.spec, self._limits, page.data).standing(cell)
        return Known(task, cell, past, lease if held else None, page, foreign)

    def tasks(self, state: str | None, wanted: Filter, limit: int | None) -> Iterator[Task]:
        if state is not None and state not in list(State):
            raise BadInput(f"state {state!r} is not known; use one of {', '.join(State)}")
        return self._tasks(state, wanted, limit)

    def _tasks(self, state: str | None, wanted: Filter, limit: int | None) -> Iterator[Task]:
        view = self._catalogue.view(self._now())
        shown = 0
        for place, now in self._ordered(view, state):
            spec = view.listing.at(place)
            if isinstance(spec, Broken) or not wanted(_facet(spec)):
                continue
            if limit is not None and shown >= limit:
                return
            shown += 1
            yield task_of(spec, self._limits).standing(self._cell(spec, now))

    def _ordered(self, view: View, state: str | None) -> Iterator[tuple[int, State]]:
        if state == State.READY:
            yield from ((place, State.READY) for place in view.ready())
            return
        by_state: dict[State, list[int]] = defaultdict(list)
        for place in range(len(view.listing)):
            now = view.state(place)
            if now is not None:
                by_state[now].append(place)
        by_state[State.READY] = view.ready()
        ids = view.listing.ids
        for kind in ORDER if state is None else (State(state),):
            places = by_state[kind]
            for place in places if kind is State.READY else sorted(places, key=ids.__getitem__):
                yield place, kind

    def _cell(self, spec: Spec, state: State) -> Cell:
        past, lease, _ = self._ledger.glance(spec.id)
        kept = lease.cell if lease is not None and state is State.CLAIMED else past.cell
        epoch, attempts = max(kept.epoch, past.cell.epoch, spec.epoch), max(kept.attempts, spec.attempts)
        return Cell(state, epoch, attempts, kept.deaths)

    def claims(self) -> list[Claim]:
        """Locks, and what is in progress without one here: on another clone, or by a person's hand."""
        claims = []
        view = self._catalogue.view(self._now())
        for place, _ in self._ordered(view, State.CLAIMED):
            if isinstance(spec := view.listing.at(place), Spec):
                record = self._ledger.glance(spec.id).lease
                if record is not None and record.cell.epoch > 0:
                    claims.append(claim_of(spec.id, record, self._clock, self._host))
                elif record is None and spec.started_by:
                    claims.append(self.elsewhere(spec))
        return sorted(claims, key=lambda claim: claim.id)

    def elsewhere(self, spec: Spec) -> Claim:
        from dibs.clock import parse_time

        try:
            since = parse_time(spec.started_at or "")
        except ValueError:
            since = 0.0
        return Claim(
            id=spec.id, key=spec.id, epoch=spec.epoch, worker=spec.started_by or "somebody", host="elsewhere",
            pid=None, claimed_at=since, heartbeat_at=since, expires_at=since, ttl=0.0,
        )  # fmt: skip

    def stats(self, paused: str | None) -> Stats:
        counts = self._counts(self._catalogue.view(self._now()))
        return replace(counts, workers=len({claim.worker for claim in self.claims()}), paused=paused)

    def _counts(self, view: View) -> Stats:
        states: Counter[str] = Counter()
        tables: dict[str, dict[Any, Counter[str]]] = {
            name: defaultdict(Counter) for name in ("priority", "project", "label")
        }
        for place in range(len(view.listing)):
            state, spec = view.state(place), view.listing.at(place)
            if state is None or isinstance(spec, Broken):
                continue
            states[str(state)] += 1
            tables["priority"][spec.priority][str(state)] += 1
            if spec.project is not None:
                tables["project"][spec.project][str(state)] += 1
            for label in set(spec.labels):
                tables["label"][label][str(state)] += 1
        plain = {name: {key: dict(counts) for key, counts in sorted(table.items())} for name, table in tables.items()}
        return Stats(
            states={str(state): states[str(state)] for state in State},
            priorities=plain["priority"],
            projects=plain["project"],
            labels=plain["label"],
        )

    def detail(self, known: Known, paused: str | None) -> Detail:
        cell, past, spec = known.cell, known.past, known.page.spec
        errors = [event.error for event in past.history if event.error]
        completed = cell.state is State.COMPLETED
        last = past.history[-1] if completed and past.history else None
        return Detail(
            task=known.task,
            due=cell.due or None,
            claim=claim_of(spec.id, known.lease, self._clock, self._host) if known.lease else None,
            history=past.history,
            result=last.result if last and last.what == "completed" else None,
            error="" if completed else errors[-1] if errors else spec.error or "",
            ended_at=past.ended or None,
            waits_for=tuple((ref, self._state(ref)) for ref in spec.waits_for),
            paused=paused,
        )

    def _state(self, ref: str) -> str:
        try:
            known = self.known(ref)
        except BadSpec:
            return "unreadable"
        if known is not None and known.cell.state is State.COMPLETED and known.page.spec.status is not Status.COMPLETED:
            return "completed elsewhere; `git pull` brings its file"
        if known is not None:
            return str(known.cell.state)
        return str(State.COMPLETED) if self._catalogue.archived(ref) else "unknown"


def _facet(spec: Spec) -> Facet:
    return Facet(spec.priority, spec.project, spec.labels)
