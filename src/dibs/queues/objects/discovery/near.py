"""Names that this process itself has made ready: known at once, before any list has them."""

from collections.abc import Callable
from heapq import heapify, heappop, heappush

from dibs.facets import Facet, Filter
from dibs.queues.stored.layout import Marker, parse_marker

MOST = 10_000


class Near:
    """At most MOST: what is dropped will be listed. Not safe for threads."""

    def __init__(self, facet: Callable[[str], Facet]) -> None:
        self._facet = facet
        self._names: dict[str, list[tuple[str, float, Marker]]] = {}  # by facet, the oldest task first
        self._count = 0

    def add(self, key: str, at: float) -> None:
        marker = parse_marker(key)
        if marker is not None and self._count < MOST:
            heappush(self._names.setdefault(marker.facet, []), (marker.id, at, marker))
            self._count += 1

    def priority(self, wanted: Filter) -> int:
        """Of the most urgent that is wanted; -1 when there is none."""
        return max((_priority(code) for code in self._names if not wanted or wanted(self._facet(code))), default=-1)

    def take(self, wanted: Filter) -> Marker | None:
        codes = [code for code in self._names if not wanted or wanted(self._facet(code))]
        if not codes:
            return None
        best = min(codes, key=lambda code: (-_priority(code), self._names[code][0][0]))
        marker = heappop(self._names[best])[2]
        if not self._names[best]:
            del self._names[best]
        self._count -= 1
        return marker

    def drop_before(self, at: float) -> None:
        """A list that was made then has those that came earlier."""
        kept = {code: [name for name in names if name[1] >= at] for code, names in self._names.items()}
        self._names = {code: names for code, names in kept.items() if names}
        for names in self._names.values():
            heapify(names)
        self._count = sum(map(len, self._names.values()))


def _priority(code: str) -> int:
    priority = code.partition("-")[0]
    return int(priority) if priority.isascii() and priority.isdigit() else 0
