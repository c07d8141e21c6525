"""Which specs are in which state: worked out once, and good until a file or a lock changes, or a time comes."""

import os
from collections import Counter, defaultdict
from functools import cached_property
from typing import Any

from dibs.facets import Facet
from dibs.queues.specs.looks import Looks
from dibs.queues.views import Stats
from dibs.serve.cache.folders import Stamp
from dibs.specs.archive import NAMES
from dibs.specs.cache import STAMP
from dibs.specs.spec import Spec
from dibs.specs.view import View
from dibs.states import Cell, State


class Order:
    """Of one view, and of all later ones that it fits."""

    def __init__(self, looks: "KnownLooks", view: View) -> None:
        self._looks = looks
        self._view = view
        self._archive = archive_of(view.listing.folder)
        times = view.graph.nodes.not_before
        self._until = min((time for time in times if time > view.now), default=float("inf"))

    def fits(self, view: View) -> bool:
        mine = self._view
        return (
            mine.listing is view.listing
            and mine.now <= view.now < self._until
            and mine.over == view.over
            and self._archive == archive_of(view.listing.folder)
        )

    @cached_property
    def all(self) -> list[tuple[int, State]]:
        return list(self._looks.worked_out(self._view, None))

    @cached_property
    def by_state(self) -> dict[str, list[tuple[int, State]]]:
        found: dict[str, list[tuple[int, State]]] = {}
        for one in self.all:
            found.setdefault(one[1], []).append(one)
        return found

    @cached_property
    def ready(self) -> list[tuple[int, State]]:
        return list(self._looks.worked_out(self._view, State.READY))

    @cached_property
    def counts(self) -> Stats:
        return self._looks.counted(self, self._view)

    def places(self, state: str | None) -> list[tuple[int, State]]:
        if state == State.READY:
            return self.ready
        return self.all if state is None else self.by_state.get(state, [])


class KnownLooks(Looks):
    _order: Order | None = None

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self._facets: dict[str, tuple[str, Facet]] = {}
        self._same: dict[Facet, Facet] = {}

    def order(self, view: View) -> Order:
        order = self._order
        if order is None or not order.fits(view):
            self._order = order = Order(self, view)
        return order

    def _ordered(self, view: View, state: str | None) -> list[tuple[int, State]]:  # type: ignore[override]
        return self.order(view).places(state)

    def _counts(self, view: View) -> Stats:
        return self.order(view).counts

    def cell(self, spec: Spec, state: State) -> Cell:
        return self._cell(spec, state)

    def worked_out(self, view: View, state: str | None) -> list[tuple[int, State]]:
        return list(super()._ordered(view, state))

    def counted(self, order: "Order", view: View) -> Stats:
        """As there, by what each spec is counted by, which is remembered."""
        counts: Counter[tuple[State, Facet]] = Counter()
        names, lines, facets = view.listing._snapshot.names, view.listing._snapshot.lines, self._facets
        for place, state in order.all:
            known = facets.get(names[place])
            if known is None or known[0] is not lines[place]:
                known = self._facet(view, place)
            counts[state, known[1]] += 1
        return _stats(counts)

    def _facet(self, view: View, place: int) -> tuple[str, Facet]:
        spec = view.listing.at(place)
        assert isinstance(spec, Spec)
        facet = Facet(spec.priority, spec.project, tuple(sorted(set(spec.labels))))
        if len(self._facets) > 2 * len(view.listing):
            self._facets.clear()  # of files that are gone
        line = view.listing._snapshot.lines[place]
        found = self._facets[view.listing._snapshot.names[place]] = (line, self._same.setdefault(facet, facet))
        return found


def _stats(counts: "Counter[tuple[State, Facet]]") -> Stats:
    states: Counter[str] = Counter()
    priorities: dict[int, Counter[str]] = defaultdict(Counter)
    projects: dict[str, Counter[str]] = defaultdict(Counter)
    labels: dict[str, Counter[str]] = defaultdict(Counter)
    for (state, facet), count in counts.items():
        name = str(state)
        states[name] += count
        priorities[facet.priority][name] += count
        if facet.project is not None:
            projects[facet.project][name] += count
        for label in facet.labels:
            labels[label][name] += count
    return Stats(
        states={str(state): states[str(state)] for state in State},
        priorities={key: dict(found) for key, found in sorted(priorities.items())},
        projects={key: dict(found) for key, found in sorted(projects.items())},
        labels={key: dict(found) for key, found in sorted(labels.items())},
    )


def archive_of(folder: str) -> tuple[Stamp | None, ...]:
    """The times of the folders in which specs are put away."""
    return tuple(_stamp(os.path.join(folder, *up, name)) for up in ((), (os.pardir,)) for name in NAMES)


def _stamp(path: str) -> Stamp | None:
    try:
        stamp: Stamp = STAMP(os.stat(path))
        return stamp
    except OSError:
        return None
