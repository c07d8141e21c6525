"""Finding ready tasks without reading the whole queue.

A `Discovery` gives out names of tasks that may be ready. What it says is a hint: the claimer asks the cell, so a name
that is old, or given to others too, costs a request and never a guarantee.

`Listing` is the way that needs nothing but the store: a page of markers is read at a time, highest priority first,
starting at a random shard; claims are served from it, oldest first, until it is used up or old.
"""

import random
from collections.abc import Callable, Iterator
from itertools import islice, takewhile
from threading import Lock
from typing import Protocol

from dibs.clock import Clock
from dibs.facets import Facet, Filter
from dibs.queues.leased import Look
from dibs.queues.stored.layout import Marker, parse_marker
from dibs.stores.store import Store

PAGE = 1000
FILTERS = 16


class Discovery(Protocol):
    """Safe for threads."""

    def some(self, most: int, wanted: Filter, look: Look) -> list[Marker]:
        """At most so many, and none twice; nothing after a look at everything."""
        ...

    def missed(self, marker: Marker, wanted: Filter) -> None:
        """What `some` gave was not to be had: somebody else has it, or it is gone."""
        ...

    def ready(self, key: str) -> None:
        """This process has just made the task with this marker ready. `pushed` or `forget` follows soon."""
        ...

    def pushed(self, priority: int) -> None:
        """Tasks up to this priority were made ready by a push."""
        ...

    def forget(self) -> None:
        """Something may have become ready: start again from the highest priority at the next look."""
        ...

    def wait(self, seconds: float) -> None:
        """Return when a name may have come in, or after so long."""
        ...

    def close(self) -> None: ...


class Listing:
    """Each marker of a page is given out once. Every filter has pages of its own."""

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
        with self._lock:
            self._pages.clear()

    def ready(self, key: str) -> None:
        """It will be listed."""

    def pushed(self, priority: int) -> None:
        """A task that is more urgent than what is served now: start again with it."""
        with self._lock:
            for wanted in [wanted for wanted, pages in self._pages.items() if pages.behind(priority)]:
                del self._pages[wanted]

    def missed(self, marker: Marker, wanted: Filter) -> None:
        """Stop running beside whoever took it."""
        with self._lock:
            if wanted in self._pages:
                self._rng.shuffle(self._pages[wanted].page)

    def wait(self, seconds: float) -> None:
        self._clock.sleep(seconds)

    def close(self) -> None:
        """Nothing is held."""

    def some(self, most: int, wanted: Filter, look: Look) -> list[Marker]:
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
        self._wanted = wanted
        self._levels: set[int] = set()
        self._walk = walk_ready(store, rng, wanted.max_priority, self._levels)

    def behind(self, priority: int) -> bool:
        """It is past this priority, or does not know of it."""
        if self.level == priority and self.page:
            return False
        return self.level <= priority or priority not in self._levels

    def pop(self, facet: Callable[[str], Facet]) -> Marker | None:
        while True:
            while self.page:
                marker = parse_marker(self.page.pop())
                if marker is not None and (not self._wanted or self._wanted(facet(marker.facet))):
                    return marker
            self.level, page = next(self._walk, (-1, []))
            if not page:
                return None
            self.page = page[::-1]


def walk_ready(
    store: Store, rng: random.Random | None, highest: int | None = None, found: set[int] | None = None
) -> Iterator[tuple[int, list[str]]]:
    """The markers of ready tasks with their priority, a page at a time: highest priority first, from a random shard
    on, or without `rng` from the first, oldest first within the page. `found` takes the priorities that there are."""
    levels = [level for level in store.folders("pending/") if level.isascii() and level.isdigit()]
    if found is not None:
        found.update(map(int, levels))
    for level in sorted(levels, key=int, reverse=True):
        if highest is None or int(level) <= highest:
            names = _level(store, f"pending/{level}/", f"{rng.randrange(256):02x}/0" if rng else "")
            while page := sorted(islice(names, PAGE), key=_name):
                yield int(level), page


def _level(store: Store, prefix: str, shard: str) -> Iterator[str]:
    """From a shard on, and round. `start` is a name inside the shard: some stores skip a folder that is named."""
    start = prefix + shard
    yield from store.list(prefix, start if shard else "")
    if shard:
        yield from takewhile(lambda key: key <= start, store.list(prefix))


def _name(key: str) -> str:
    return key[key.rfind("/") + 1 :]
