"""What a stored queue shows. Counts read names only, and the cells of seeds in hand; the rest reads what it shows."""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from heapq import merge
from itertools import chain, islice
from typing import Any

from dibs.clock import Clock
from dibs.errors import BadInput, StorageError
from dibs.facets import Filter, facet_of
from dibs.host import Host
from dibs.queues.stored.body import Known
from dibs.queues.stored.cells import Cells
from dibs.queues.stored.known_facets import KnownFacets
from dibs.queues.stored.layout import FOLDERS, Marker, cell_key, hour_of, parse_marker
from dibs.queues.views import Claim, Detail, Stats
from dibs.states import State, promote, seen
from dibs.task import Task

SAMPLE = 5000
Now = Callable[[], float]
ORDER = (
    State.CLAIMED, State.READY, State.SCHEDULED, State.BLOCKED, State.FAILED, State.CANCELLED, State.COMPLETED,
)  # fmt: skip


class Looks:
    def __init__(self, cells: Cells, facets: KnownFacets, clock: Clock, host: Host) -> None:
        self._cells = cells
        self._store = cells.store
        self._facets = facets
        self._clock = clock
        self._host = host

    def tasks(self, state: str | None, wanted: Filter, limit: int | None) -> Iterator[Task]:
        if state is not None and state not in list(State):
            raise BadInput(f"state {state!r} is not known; use one of {', '.join(State)}")
        now = cache(self.now)  # one look, one moment: nothing becomes due in the middle of it
        found = (
            self.shown(known, now)
            for kind in (ORDER if state is None else (State(state),))
            for known in self._seen(kind, wanted, now)
        )
        return islice(found, limit)

    def shown(self, known: Known, now: Now | None = None) -> Task:
        """Whole, and as a claim of this moment would find it."""
        task = self._cells.whole(known)
        if known.cell.state is not State.SCHEDULED:
            return task
        return task.standing(seen(known.cell, (now or self.now)()))

    def now(self) -> float:
        """The store's time; where that may not be asked for, because it takes a write, this host's."""
        try:
            return self._store.now()
        except StorageError:
            return self._clock.wall()

    def _seen(self, state: State, wanted: Filter | None, now: Now) -> Iterator[Known]:
        """As `known`, with what is due among what is ready."""
        if state is State.SCHEDULED:
            return (known for known in self.known(state, wanted) if known.cell.due > now())
        due = list(self._due(wanted, now)) if state is State.READY else []
        return self._ready(wanted, due, now) if due else self.known(state, wanted)

    def _ready(self, wanted: Filter | None, due: list[Marker], now: Now) -> Iterator[Known]:
        due.sort(key=lambda marker: (-marker.priority, marker.id))
        for marker in merge(self._markers(State.READY, wanted), due, key=lambda marker: -marker.priority):
            known = self._cells.settle(marker)
            if known is not None and seen(known.cell, now()).state is State.READY:
                yield known

    def _due(self, wanted: Filter | None, now: Now) -> Iterator[Marker]:
        """By their names: they are read when they are shown."""
        for key in self._store.list("scheduled/"):
            marker = parse_marker(key)
            if key > f"scheduled/{hour_of(now())}0":  # sorts behind every name of this hour
                return
            if marker is not None and marker.due <= now() and self._wants(wanted, marker):
                yield marker

    def known(self, state: State, wanted: Filter | None = None) -> Iterator[Known]:
        found = self._markers(state, wanted)
        if state is State.CLAIMED:
            found = chain(found, (marker for marker in self._touched() if self._wants(wanted, marker)))
        for marker in found:
            known = self._cells.settle(marker)
            if known is not None and known.cell.state is state:
                yield known

    def _touched(self) -> Iterator[Marker]:
        """Seeds that have a cell: in their first lease, or left behind."""
        for level in self._store.folders("pending/"):
            cells = self._store.list("tasks/")
            last = ""
            for key in self._store.list(f"pending/{level}/"):
                marker = parse_marker(key)
                if marker is None or not marker.seed:
                    continue
                cell = cell_key(marker.id)
                while last < cell and (following := next(cells, None)) is not None:
                    last = following
                if last == cell:
                    yield marker
                elif last < cell:
                    break  # no cells any more

    def _wants(self, wanted: Filter | None, marker: Marker) -> bool:
        return not wanted or wanted(self._facets.get(marker.facet))

    def claims(self) -> list[Claim]:
        return [self.claim_of(known) for known in self.known(State.CLAIMED)]

    def claim_of(self, known: Known) -> Claim:
        """Wall times for people. Only the age of a beat of this boot is exact; one of another is known where the store
        dates what is written, else it may be of this moment."""
        holder = known.seen.record.holder
        ttl = holder.ttl if holder else 0.0
        since = holder.since if holder else 0.0
        beat = self._clock.wall()
        if holder is not None and holder.boot == self._host.boot:
            beat -= self._clock.boottime() - holder.beat
        elif known.seen.modified is not None:
            beat = known.seen.modified  # a bucket's clock is right, and asking for it is a write
        return Claim(
            id=known.task.id,
            key=known.task.key,
            epoch=known.cell.epoch,
            worker=holder.worker if holder else known.cell.holder,
            host=holder.host if holder else "unknown",
            pid=holder.pid if holder else None,
            claimed_at=since,
            heartbeat_at=max(beat, since),
            expires_at=beat + ttl,
            ttl=ttl,
        )

    def detail(self, known: Known, waits_for: tuple[tuple[str, str], ...], paused: str | None) -> Detail:
        body, task = known.body, self.shown(known)
        cell = known.cell if task.state is known.cell.state else promote(known.cell)
        errors = [event.error for event in body.history if event.error]
        completed = body.history[-1] if cell.state is State.COMPLETED and body.history else None
        return Detail(
            task=task,
            due=cell.due or None,
            claim=self.claim_of(known) if cell.state is State.CLAIMED else None,
            history=body.history,
            result=completed.result if completed else None,
            error=errors[-1] if errors and not completed else "",
            ended_at=body.ended or None,
            waits_for=waits_for,
            paused=paused,
        )

    def stats(self, paused: str | None) -> Stats:
        states: dict[str, int] = dict.fromkeys(State, 0)
        tables: tuple[dict[Any, dict[str, int]], ...] = ({}, {}, {})
        touched = {marker.key: self._cells.settle(marker) for marker in self._touched()}
        first = Counter(facet_of(known.task).code for known in touched.values() if known)
        for state in State:
            markers = map(parse_marker, self._store.list(f"{FOLDERS[state]}/"))
            found = (marker for marker in markers if marker and marker.key not in touched)
            counts = self._counted(state, found)
            if state is State.CLAIMED:
                counts.update({(State.CLAIMED, code): count for code, count in first.items()})
            for (shown, code), count in counts.items():
                states[shown] += count
                facet = self._facets.get(code)
                projects = () if facet.project is None else (facet.project,)
                for table, names in zip(tables, ((facet.priority,), projects, facet.labels), strict=True):
                    for name in names:
                        row = table.setdefault(name, {})
                        row[shown] = row.get(shown, 0) + count
        workers = {claim.worker for claim in self.claims()}
        priorities, projects_, labels = tables
        return Stats(
            states=states,
            priorities=priorities,
            projects=projects_,
            labels=labels,
            workers=len(workers),
            paused=paused,
        )

    def _counted(self, state: State, markers: Iterator[Marker]) -> Counter[tuple[State, str]]:
        """How many of each facet are in a state; of those that are scheduled, some are due, and so ready."""
        if state is not State.SCHEDULED:
            return Counter((state, marker.facet) for marker in markers)
        now = cache(self.now)
        return Counter((State.READY if marker.due <= now() else state, marker.facet) for marker in markers)

    def _markers(self, state: State, wanted: Filter | None) -> Iterator[Marker]:
        """Oldest first as far as a sample reaches; ready ones by priority first."""
        prefixes = [f"{FOLDERS[state]}/"]
        if state is State.READY:
            prefixes = [f"pending/{level}/" for level in sorted(self._store.folders("pending/"), reverse=True)]
        for prefix in prefixes:
            names = self._store.list(prefix)
            while sample := list(islice(names, SAMPLE)):
                markers = [marker for marker in map(parse_marker, sample) if marker]
                for marker in sorted(markers, key=lambda marker: (marker.due, marker.id)):
                    if self._wants(wanted, marker):
                        yield marker
