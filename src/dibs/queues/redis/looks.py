"""What a Redis queue shows. Each look is one script, a page of a listing another."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from heapq import merge
from itertools import islice
from typing import Any

from dibs.errors import BadInput
from dibs.facets import Facet, Filter, facet_from_record, facet_of, plain_facet
from dibs.queues.redis.answers import MICRO, Known, claim_of, known, pairs, reason
from dibs.queues.redis.server import Server
from dibs.queues.views import MOST_DUE, Claim, Stats
from dibs.states import State, seen
from dibs.task import Task, decode

PAGE = 200
DUE_PAGE = 1000
SAMPLE = 10_000  # leases that are looked at to count their workers
ORDER = (
    State.CLAIMED, State.READY, State.SCHEDULED, State.BLOCKED, State.FAILED, State.CANCELLED, State.COMPLETED,
)  # fmt: skip


class Looks:
    def __init__(self, server: Server) -> None:
        self._server = server

    def tasks(self, state: str | None, wanted: Filter, limit: int | None, *, newest: bool = False) -> Iterator[Task]:
        """`newest`: of a state that is over, what ended last first."""
        if state is not None and state not in list(State):
            raise BadInput(f"state {state!r} is not known; use one of {', '.join(State)}")
        page = PAGE if limit is None or wanted else max(1, min(limit, PAGE))
        now = cache(lambda: int(self._server.ask("time")))  # one look, one moment
        found = (
            entry.task
            for kind in (ORDER if state is None else (State(state),))
            for entry in self._each(kind, page, newest, now)
            if not wanted or wanted(facet_of(entry.task))
        )
        return islice(found, limit)

    def _each(self, state: State, page: int, newest: bool, now: Callable[[], int]) -> Iterator[Known]:
        """What a claim of that moment would find in a state: what is due is among what is ready."""
        if state is State.SCHEDULED:
            return (entry for entry, _, _ in self._listed(state, page, behind=now()))
        listed = (entry for entry, _, _ in self._listed(state, page, newest=newest))
        due = sorted(self._due(now())) if state is State.READY else []
        return merge(listed, self._shown(due, now()), key=_place) if due else listed

    def _due(self, now: int) -> Iterator[tuple[int, str]]:
        """Place in line and id of each that is due."""
        offset = 0
        while found := pairs(self._server.ask("due", now, offset, DUE_PAGE)):
            yield from ((int(place), task_id) for task_id, place in found.items())
            offset += DUE_PAGE

    def _shown(self, due: list[tuple[int, str]], now: int) -> Iterator[Known]:
        for first in range(0, len(due), PAGE):
            for view, _ in self._server.ask("pack", *(task_id for _, task_id in due[first : first + PAGE])):
                found = known(view) if view[1] and view[2] else None
                if found is not None and (cell := seen(found.cell, now / MICRO)).state is State.READY:
                    yield found._replace(task=found.task.standing(cell), cell=cell)

    def claims(self) -> list[Claim]:
        return [claim_of(*listed) for listed in self._listed(State.CLAIMED, PAGE)]

    def stats(self) -> Stats:
        counts, facets, workers, paused, due = self._server.ask("stats", SAMPLE, MOST_DUE)
        known_facets = pairs(facets)
        states: dict[str, int] = dict.fromkeys(State, 0)
        tables: tuple[dict[Any, dict[str, int]], ...] = ({}, {}, {})
        numbers = Counter({name: int(number) for name, number in pairs(counts).items()})
        for code, number in pairs(due).items():
            numbers[f"scheduled:{code}"] -= int(number)
            numbers[f"ready:{code}"] += int(number)
        for name, count in numbers.items():
            state, _, code = name.partition(":")
            if not count or state not in states:  # leaving: no task of this queue any more
                continue
            states[State(state)] += count
            facet = _facet(code, known_facets)
            projects = () if facet.project is None else (facet.project,)
            for table, names in zip(tables, ((facet.priority,), projects, facet.labels), strict=True):
                for key in names:
                    row = table.setdefault(key, {})
                    row[State(state)] = row.get(State(state), 0) + count
        priorities, by_project, labels = tables
        return Stats(
            states=states,
            priorities=priorities,
            projects=by_project,
            labels=labels,
            workers=workers,
            paused=reason(paused),
        )

    def _listed(
        self, state: State, page: int, *, newest: bool = False, behind: int | None = None
    ) -> Iterator[tuple[Known, bytes, bytes]]:
        """In order; what moves meanwhile may be missed or seen in its new state."""
        offset = 0
        how = ["newest" if newest else "", *([] if behind is None else [behind])]
        while True:
            entries: Sequence[Any] = self._server.ask("list", str(state), offset, page, *how)
            for view, ends, worker in entries:
                if view[1] and view[2]:
                    yield known(view), ends, worker
            if len(entries) < page:
                return
            offset += page


def _place(entry: Known) -> int:
    return int(float(entry.fields.get("place", 0)))


def _facet(code: str, records: dict[str, str]) -> Facet:
    facet = plain_facet(code)
    if facet is not None:
        return facet
    return facet_from_record(decode(records[code].encode()))
