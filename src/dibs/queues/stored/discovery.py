"""Finding ready tasks without reading the whole queue.

A page of markers is read at a time, highest priority first, starting at a random shard; claims are served from it,
oldest first, until it is used up or old. What it says is a hint; the claimer asks the cell.
"""

import random
from collections.abc import Callable, Iterator
from itertools import islice, takewhile
from threading import Lock

from dibs.clock import Clock
from dibs.facets import Facet, Filter
from dibs.queues.leased import Look
from dibs.queues.stored.layout import Marker, parse_marker
from dibs.stores.store import Store

PAGE = 1000
FILTERS = 16


class Discovery:
    """Safe for threads; each marker of a page is given out once. Every filter has pages of its own."""

    def __init__(
        self, store: Store, clock: Clock, rng: random.Random, facet: Callable[[str], Facet], fresh_seconds: float
    ) -> None:
        self._store = store
        self._clock = clock
        self._rng = rng
        self._facet = facet
        self._fresh = fresh_seconds
        self._lock = Lock()
        self._pages: dict[Filter, Pages] = {}

    def forget(self) -> None:
        """Start again from the highest priority at the next look."""
        with self._lock:
            self._pages.clear()

    def pushed(self, priority: int) -> None:
        """A task that is more urgent than what is served now: start again with it."""
        with self._lock:
            for wanted in [wanted for wanted, pages in self._pages.items() if pages.level < priority]:
                del self._pages[wanted]

    def missed(self, wanted: Filter) -> None:
        """Somebody else took what `next` gave: stop running beside them."""
        with self._lock:
            if wanted in self._pages:
                self._rng.shuffle(self._pages[wanted].page)

    def some(self, most: int, wanted: Filter, look: Look) -> list[Marker]:
        """At most so many, and none twice; nothing after a look at everything."""
        found: list[Marker] = []
        while not look.over and len(found) < most:
            marker = self.next(wanted, look)
            if marker is None:
                look.over = True
            else:
                found.append(marker)
        return found

    def next(self, wanted: Filter, look: Look) -> Marker | None:
        """A task that was ready when it was listed, or None after a look at everything."""
        with self._lock:
            now = self._clock.boottime()
            pages = self._pages.get(wanted)
            if pages is None or (now - pages.since >= self._fresh and not look.anew):
                pages = self._begin(wanted, now, look)
            while True:
                marker = pages.pop(self._facet)
                if marker is not None:
                    return marker
                self._pages.pop(wanted, None)
                if look.anew:
                    return None
                pages = self._begin(wanted, now, look)

    def _begin(self, wanted: Filter, now: float, look: Look) -> "Pages":
        look.anew = True
        if len(self._pages) >= FILTERS:
            self._pages.clear()
        pages = self._pages[wanted] = Pages(self._store, wanted, self._rng, now)
        return pages


class Pages:
    """A walk through all markers that a filter may want."""

    def __init__(self, store: Store, wanted: Filter, rng: random.Random, since: float) -> None:
        self.since = since
        self.page: list[str] = []  # the next one last
        self.level = -1  # the priority of the page
        self._store = store
        self._wanted = wanted
        self._names = self._walk(rng)

    def pop(self, facet: Callable[[str], Facet]) -> Marker | None:
        while True:
            while self.page:
                marker = parse_marker(self.page.pop())
                if marker is not None and (not self._wanted or self._wanted(facet(marker.facet))):
                    return marker
            self.page = next(self._names, [])
            if not self.page:
                return None

    def _walk(self, rng: random.Random) -> Iterator[list[str]]:
        levels = [level for level in self._store.folders("pending/") if level.isascii() and level.isdigit()]
        highest = self._wanted.max_priority
        for level in sorted(levels, key=int, reverse=True):
            if highest is None or int(level) <= highest:
                names = self._level(f"pending/{level}/", f"{rng.randrange(256):02x}/0")
                while page := sorted(islice(names, PAGE), key=_name, reverse=True):
                    self.level = int(level)
                    yield page

    def _level(self, prefix: str, shard: str) -> Iterator[str]:
        """From a shard on, and round. `start` is a name inside the shard: some stores skip a folder that is named."""
        start = prefix + shard
        yield from self._store.list(prefix, start)
        yield from takewhile(lambda key: key <= start, self._store.list(prefix))


def _name(key: str) -> str:
    return key[key.rfind("/") + 1 :]
