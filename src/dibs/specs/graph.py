"""What may run now, and what keeps the rest: dependencies between specs. Pure, but for the archive it may ask.

A dependency is met when its spec is completed, or was put away in the archive. Everything else leaves the dependant
blocked and is said by `why`: a dependency that is open, failed, cancelled, cannot be read, or is not there (decision
6). The members of a driver are dependencies like others. In a file only whole ids count, with or without `.md`.
All is linear in specs and dependencies, but for the order of what is ready, which is sorted.
"""

from collections.abc import Callable, Container
from functools import cached_property
from typing import NamedTuple

from dibs.clock import iso
from dibs.specs.cycles import cycles
from dibs.specs.nodes import COMPLETED, READY, STATUSES, UNAPPROVED, Nodes
from dibs.specs.statuses import Status, state_of
from dibs.states import State

MISSING = "missing"
UNREADABLE = "unreadable"
_NONE: frozenset[str] = frozenset()
_HINTS = {
    Status.FAILED: "failed; retry it, or take it out of depends_on",
    Status.NEEDS_ATTENTION: "needs attention; look at it and retry it, or take it out of depends_on",
    Status.CANCELLED: "was cancelled; retry it, or take it out of depends_on",
    MISSING: "is neither here nor in the archive; add it, or take it out of depends_on",
    UNREADABLE: "cannot be read; `dibs specs lint` says why",
}


class Wait(NamedTuple):
    """One dependency that is not met: the status of its spec, or MISSING or UNREADABLE."""

    ref: str
    standing: str


class Graph:
    """Over the specs of one listing; `archived` gives the standing of a spec that was put away, or None."""

    def __init__(self, nodes: Nodes, archived: Callable[[str], Status | None] = lambda ref: None) -> None:
        self.nodes = nodes
        self._archived = archived

    @cached_property
    def places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.nodes.ids)}

    @cached_property
    def _met(self) -> set[str]:
        """Every reference that is met."""
        nodes = self.nodes
        met = {name for name, code in zip(nodes.ids, nodes.codes, strict=True) if code == COMPLETED}
        absent = {ref for refs in nodes.waits if refs for ref in refs}.difference(nodes.ids)
        met.update(ref for ref in absent if self._archived(ref) is Status.COMPLETED)
        return met

    def ready(self, now: float, locked: Container[str] = _NONE) -> list[int]:
        """The places of all that may run: highest priority first, then by id, which is by age."""
        ids, codes, priorities, waits, times = self.nodes
        met = self._met.issuperset
        found = [
            place
            for place, code in enumerate(codes)
            if code == READY and met(waits[place]) and times[place] <= now and ids[place] not in locked
        ]
        return sorted(found, key=lambda place: (-priorities[place], ids[place]))

    def state(self, place: int, now: float, locked: Container[str] = _NONE) -> State | None:
        """None for a spec that cannot be read."""
        ids, codes, _, waits, times = self.nodes
        status = STATUSES[codes[place]]
        if status is None:
            return None
        met = codes[place] != UNAPPROVED and self._met.issuperset(waits[place])
        return state_of(status, met=met, locked=ids[place] in locked, due=times[place] <= now)

    def waits_for(self, place: int) -> list[Wait]:
        """The dependencies that are not met."""
        return [Wait(ref, self.standing(ref)) for ref in self.nodes.waits[place] if ref not in self._met]

    def standing(self, ref: str) -> str:
        """The status of a spec that is referred to, or MISSING or UNREADABLE."""
        place = self.places.get(ref)
        if place is None:
            return self._archived(ref) or MISSING
        return STATUSES[self.nodes.codes[place]] or UNREADABLE

    def why(self, place: int, now: float) -> list[str]:
        """What keeps a pending spec from running, a line each; nothing when it is free to. Locks are not looked at."""
        lines = [f"waits for {wait.ref}, which {_said(wait.standing)}" for wait in self.waits_for(place)]
        for circle in self.cycles:
            if place in circle:
                lines.append(f"is in a circle: {self.drawn(circle)}; take one of these dependencies out")
        if self.nodes.codes[place] == UNAPPROVED:
            lines.append("waits for approval; set `approval: approved`")
        if self.nodes.not_before[place] > now:
            lines.append(f"not before {iso(self.nodes.not_before[place])}")
        return lines

    @cached_property
    def edges(self) -> list[list[int]]:
        """The places that each spec waits for, as far as they are here."""
        place_of = self.places.get
        return [
            [place for ref in refs if (place := place_of(ref)) is not None] if refs else [] for refs in self.nodes.waits
        ]

    @cached_property
    def cycles(self) -> list[list[int]]:
        return cycles(self.edges)

    def drawn(self, circle: list[int]) -> str:
        """A circle by its ids, from the first of them: a → b → a."""
        ids = [self.nodes.ids[place] for place in circle]
        first = ids.index(min(ids))
        return " → ".join([*ids[first:], *ids[:first], ids[first]])


def _said(standing: str) -> str:
    return _HINTS.get(standing) or f"is {standing}"
