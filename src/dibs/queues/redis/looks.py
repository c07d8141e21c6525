"""What a Redis queue shows. Each look is one script, a page of a listing another."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from dibs.errors import BadInput
from dibs.facets import Facet, Filter, facet_from_record, facet_of, plain_facet
from dibs.queues.redis.answers import Known, claim_of, known, pairs, reason
from dibs.queues.redis.server import Server
from dibs.queues.views import Claim, Stats
from dibs.states import State
from dibs.task import Task, decode

PAGE = 200
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
        found = (
            entry.task
            for kind in (ORDER if state is None else (State(state),))
            for entry, _, _ in self._listed(kind, page, newest=newest)
            if not wanted or wanted(facet_of(entry.task))
        )
        return islice(found, limit)

    def claims(self) -> list[Claim]:
        return [claim_of(*listed) for listed in self._listed(State.CLAIMED, PAGE)]

    def stats(self) -> Stats:
        counts, facets, workers, paused = self._server.ask("stats", SAMPLE)
        known_facets = pairs(facets)
        states: dict[str, int] = dict.fromkeys(State, 0)
        tables: tuple[dict[Any, dict[str, int]], ...] = ({}, {}, {})
        for name, number in pairs(counts).items():
            count = int(number)
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

    def _listed(self, state: State, page: int, *, newest: bool = False) -> Iterator[tuple[Known, bytes, bytes]]:
        """In order; what moves meanwhile may be missed or seen in its new state."""
        offset = 0
        while True:
            entries: Sequence[Any] = self._server.ask("list", str(state), offset, page, "newest" if newest else "")
            for view, ends, worker in entries:
                if view[1] and view[2]:
                    yield known(view), ends, worker
            if len(entries) < page:
                return
            offset += page


def _facet(code: str, records: dict[str, str]) -> Facet:
    facet = plain_facet(code)
    if facet is not None:
        return facet
    return facet_from_record(decode(records[code].encode()))
