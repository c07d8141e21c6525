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
from dibs.queues.stored.layout import Marker, parse_marker
from dibs.stores.store import Store

PAGE = 1000


class Discovery:
    """Safe for threads; each marker of a page is given out once."""

    def __init__(
        self, store: Store, clock: Clock, rng: random.Random, facet: Callable[[str], Facet], fresh_seconds: float
    ) -> None:
        self._store = store
        self._clock = clock
        self._rng = rng
        self._facet = facet
        self._fresh = fresh_seconds
        self._lock = Lock()
        self._wanted: Filter | None = None
        self._levels: list[str] = []
        self._names: Iterator[str] = iter(())
        self._page: list[str] = []  # the next one last
        self.forget()

    def forget(self) -> None:
        """Start again from the highest priority at the next look."""
        self._since = float("-inf")

    def missed(self) -> None:
        """Somebody else took what `next` gave: stop running beside them."""
        with self._lock:
            self._rng.shuffle(self._page)

    def next(self, wanted: Filter) -> Marker | None:
        """A task that was ready when it was listed, or None after a look at everything."""
        with self._lock:
            now = self._clock.boottime()
            whole = now - self._since >= self._fresh or wanted != self._wanted
            if whole:
                self._restart(wanted, now)
            while True:
                while self._page:
                    marker = parse_marker(self._page.pop())
                    if marker is not None and (not wanted or wanted(self._facet(marker.facet))):
                        return marker
                self._page = sorted(islice(self._names, PAGE), key=_name, reverse=True)
                if self._page:
                    continue
                if self._levels:
                    self._names = self._level(self._levels.pop())
                elif whole:
                    self.forget()
                    return None
                else:
                    whole = True
                    self._restart(wanted, now)

    def _restart(self, wanted: Filter, now: float) -> None:
        self._wanted, self._since = wanted, now
        self._page, self._names = [], iter(())
        levels = [level for level in self._store.folders("pending/") if level.isascii() and level.isdigit()]
        highest = wanted.max_priority
        self._levels = sorted((level for level in levels if highest is None or int(level) <= highest), key=int)

    def _level(self, level: str) -> Iterator[str]:
        prefix = f"pending/{level}/"
        start = f"{prefix}{self._rng.randrange(256):02x}"
        yield from self._store.list(prefix, start)
        yield from takewhile(lambda key: key <= start, self._store.list(prefix))


def _name(key: str) -> str:
    return key[key.rfind("/") + 1 :]
