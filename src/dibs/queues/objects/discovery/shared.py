"""Discovery from a list of names that several processes share (a mirror, a manifest), made anew by one of them.

It is made anew when it is older than `relist`, when much of what it names turns out to be gone, and when it is used up;
if it was used up to no avail, only after `pace`, so that those who find nothing do not list for ever. What lies behind
the end of a list that was cut, and what is wanted while there is no list yet, is listed as usual.
"""

import random
from collections.abc import Callable
from threading import Lock
from typing import Protocol

from dibs.clock import Clock
from dibs.facets import Facet, Filter
from dibs.queues.leased import Look
from dibs.queues.objects.discovery.near import Near
from dibs.queues.objects.discovery.snapshot import Snapshot
from dibs.queues.stored.discovery import Listing
from dibs.queues.stored.layout import Marker

MISS_REQUESTS = 3  # about what a name costs that is gone
SLACK = 2.0  # seconds; clocks of stores tell whole ones


class Shelf(Protocol):
    """Where the list is kept. Not safe for threads."""

    def newest(self) -> Snapshot | None:
        """The same object until another list is seen."""
        ...

    def age(self, snapshot: Snapshot) -> float:
        """Seconds since its listing began."""
        ...

    def renew(self, seen: Snapshot | None) -> Snapshot | None:
        """A newer list than the one seen, somebody else's or ours. The same if somebody is making one just now."""
        ...

    def close(self) -> None: ...


class Shared:
    def __init__(
        self,
        shelf: Shelf,
        listing: Listing,
        clock: Clock,
        rng: random.Random,
        facet: Callable[[str], Facet],
        held: Callable[[Marker], bool],
        *,
        relist_seconds: float,
        pace_seconds: float,
    ) -> None:
        """`held`: whether somebody is known to hold it; a new list would name it too."""
        self._shelf = shelf
        self._listing = listing
        self._clock = clock
        self._rng = rng
        self._facet = facet
        self._held = held
        self._relist = relist_seconds
        self._pace = pace_seconds
        self._lock = Lock()
        self._near = Near(facet)
        self._missed = 0
        self._begin(None)

    def some(self, most: int, wanted: Filter, look: Look) -> list[Marker]:
        found: list[Marker] = []
        with self._lock:
            self._update(look)
            while len(found) < most and not look.over:
                marker = self._next(wanted)
                if marker is not None:
                    self._given += 1
                    found.append(marker)
                elif look.anew or not self._used_up(look):
                    self._look_beyond(most, wanted, look, found)
        return found

    def missed(self, marker: Marker, wanted: Filter) -> None:
        with self._lock:
            self._missed += 1
            if not self._held(marker):
                self._gone += 1
            if self._snapshot is not None:
                self._snapshot.missed()
        self._listing.missed(marker, wanted)

    def ready(self, key: str) -> None:
        with self._lock:
            self._near.add(key, self._clock.boottime())

    def pushed(self, priority: int) -> None:
        self._listing.pushed(priority)

    def forget(self) -> None:
        self._listing.forget()

    def wait(self, seconds: float) -> None:
        self._clock.sleep(seconds)

    def close(self) -> None:
        with self._lock:
            self._shelf.close()

    def _begin(self, snapshot: Snapshot | None) -> None:
        if snapshot is not None and self._missed:
            snapshot.missed()  # there are others here: go another way from the start
        self._snapshot = snapshot
        self._given = self._missed = self._gone = 0
        self._jitter = 1.0 + self._rng.random() / 5  # of many who share it one is the first
        if snapshot is not None:
            self._near.drop_before(self._clock.boottime() - self._shelf.age(snapshot) - SLACK)

    def _adopt(self, snapshot: Snapshot | None) -> bool:
        if snapshot is self._snapshot:
            return False
        self._begin(snapshot)
        return True

    def _update(self, look: Look) -> None:
        """At the start of a look; later only when the list is worn, since a new one names again what was given."""
        if not look.begun:
            look.begun = True
            self._adopt(self._shelf.newest())
            snapshot = self._snapshot
            if snapshot is None or self._shelf.age(snapshot) >= self._relist * self._jitter:
                self._adopt(self._shelf.renew(snapshot))
        if self._snapshot is not None and not look.anew and self._worn(self._snapshot):
            look.anew = True
            self._adopt(self._shelf.renew(self._snapshot))

    def _worn(self, snapshot: Snapshot) -> bool:
        """A quarter is gone, and that has cost more than some listings would."""
        return self._gone * 4 >= self._given and self._gone * MISS_REQUESTS > 4 * snapshot.listings

    def _used_up(self, look: Look) -> bool:
        """Once in a look; true when there is a new list."""
        look.anew = True
        snapshot = self._snapshot
        in_vain = snapshot is not None and not snapshot.cut and self._given <= self._missed
        if in_vain and snapshot is not None and self._shelf.age(snapshot) < self._pace:
            return False
        return self._adopt(self._shelf.renew(snapshot))

    def _next(self, wanted: Filter) -> Marker | None:
        snapshot, near = self._snapshot, self._near.priority(wanted)
        if snapshot is None or near > snapshot.priority(wanted, self._facet):
            return self._near.take(wanted)
        return snapshot.take(wanted, self._facet) or self._near.take(wanted)

    def _look_beyond(self, most: int, wanted: Filter, look: Look, found: list[Marker]) -> None:
        if self._snapshot is None or self._snapshot.cut:
            look.beyond = look.beyond or Look()
            found += self._listing.some(most - len(found), wanted, look.beyond)
        look.over = look.beyond is None or look.beyond.over
