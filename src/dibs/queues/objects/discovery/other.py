"""Discovery from another queue, whose tasks are the names of what is ready here.

Whoever makes a task ready adds its name, after the task is safe on the bucket; a claimer takes a name, off the other
queue for good, and tries the task. A name that is lost (its taker died, the other queue was away) is found again by a
listing, which one of all does every `relist` seconds: `names/listed` says when, and is swapped from the version seen.
"""

import random
from collections.abc import Callable
from contextlib import suppress
from threading import Lock

from dibs.clock import Clock
from dibs.errors import BadInput, StorageError
from dibs.facets import EVERYTHING, Facet, Filter
from dibs.queues.leased import Look
from dibs.queues.objects.discovery.names import Names
from dibs.queues.objects.discovery.snapshot import MOST, list_ready
from dibs.queues.stored.discovery import Listing
from dibs.queues.stored.layout import Marker
from dibs.stores import settle
from dibs.stores.store import Changed, Exists, Store
from dibs.task import decode, encode

KEY = "names/listed"
AHEAD = 10.0  # seconds by which clocks may differ
AWAY_SECONDS = 10.0


class Other:
    def __init__(
        self,
        connect: Callable[[], Names],
        store: Store,
        listing: Listing,
        clock: Clock,
        rng: random.Random,
        facet: Callable[[str], Facet],
        *,
        relist_seconds: float,
        fresh_seconds: float,
        at_once: bool,
    ) -> None:
        """`at_once`: connect now, so that a URL that will not do is refused before anything is pushed."""
        self._connect = connect
        self._store = store
        self._listing = listing
        self._clock = clock
        self._rng = rng
        self._facet = facet
        self._relist = relist_seconds
        self._fresh = min(fresh_seconds, relist_seconds)
        self._lock = Lock()
        self._names: Names | None = None
        self._new: list[str] = []
        self._taken: list[Marker] = []  # while waiting
        self._wanted: Filter = EVERYTHING
        self._cut = False
        self._asked = self._away_until = float("-inf")
        if at_once:
            with suppress(StorageError):
                self._open()

    def some(self, most: int, wanted: Filter, look: Look) -> list[Marker]:
        self._wanted = wanted
        found = self._waited_for(most, wanted)
        self._add()
        if self._clock.boottime() - self._asked >= self._fresh:
            self._list_if_due()
        while len(found) < most and not look.over:
            if taken := self._open().take(most - len(found), wanted):
                found += taken
            elif look.anew or not self._list_on(look):
                look.over = True
        if len(found) < most and self._cut:
            look.beyond = look.beyond or Look()
            found += self._listing.some(most - len(found), wanted, look.beyond)
            look.over = look.beyond.over
        return found

    def missed(self, marker: Marker, wanted: Filter) -> None:
        self._listing.missed(marker, wanted)

    def ready(self, key: str) -> None:
        with self._lock:
            self._new.append(key)

    def pushed(self, priority: int) -> None:
        """The tasks are pushed, whatever becomes of their names: those will be listed."""
        self._listing.pushed(priority)
        self._try_to_add()

    def forget(self) -> None:
        self._listing.forget()
        self._try_to_add()

    def wait(self, seconds: float) -> None:
        until = self._clock.boottime() + seconds
        try:
            names = self._open()
            pause = names.queue.first_pause
            while not self._taken and (left := until - self._clock.boottime()) > 0:
                pause = min(pause * 1.5, max(names.queue.idle_seconds, 1.0))
                names.queue._wait(min(pause, left))
                taken = names.take(1, self._wanted)
                with self._lock:
                    self._taken += taken
        except StorageError:  # the next look says so
            self._clock.sleep(max(0.0, until - self._clock.boottime()))

    def close(self) -> None:
        with self._lock:
            self._new += [marker.key for marker in self._taken]
            self._taken = []
        self._try_to_add()
        if self._names is not None:
            self._names.queue.close()

    # Names

    def _open(self) -> Names:
        with self._lock:
            if self._names is None:
                self._names = self._connect()
            return self._names

    def _add(self) -> None:
        with self._lock:
            new, self._new = self._new, []
        try:
            if new:
                self._open().add(new)
        except StorageError:
            with self._lock:
                self._new = (new + self._new)[:MOST]  # once more with the next; what is left out will be listed
            raise

    def _try_to_add(self) -> None:
        if self._clock.boottime() < self._away_until:
            return
        try:
            self._add()
        except StorageError:
            self._away_until = self._clock.boottime() + AWAY_SECONDS  # or every push would wait for it

    def _waited_for(self, most: int, wanted: Filter) -> list[Marker]:
        with self._lock:
            taken, self._taken = self._taken, []
            found = [marker for marker in taken if not wanted or wanted(self._facet(marker.facet))][:most]
            self._new += [marker.key for marker in taken if marker not in found]
        return found

    # Listing

    def _list_on(self, look: Look) -> bool:
        """Nothing is left of a listing that was cut. Once in a look."""
        look.anew = True
        return self._cut and self._list_if_due(used_up=True)

    def _list_if_due(self, used_up: bool = False) -> bool:
        """True when this process has listed. One wins the right to; what it cannot finish is due again at once."""
        self._asked = self._clock.boottime()
        entry, now = self._store.get(KEY), self._store.now()
        at, self._cut = _listed(entry.data if entry else b"{}")
        if at <= now + AHEAD and now - at < self._relist and not (used_up and self._cut):
            return False
        version = self._swap(None if entry is None else entry.version, now, False)
        if version is None:
            return False
        try:
            listed = list_ready(self._store, self._rng, self._cut)
            self._open().add(listed.keys)
        except Exception:
            self._swap(version, 0.0, False)
            raise
        self._cut = listed.cut
        if listed.cut:
            self._swap(version, now, True)
        self._open().tidy()
        return bool(listed.keys)

    def _swap(self, version: str | None, at: float, cut: bool) -> str | None:
        data = encode({"at": at, "cut": cut, "nonce": f"{self._rng.getrandbits(64):016x}"})
        try:
            if version is None:
                return settle.create(self._store, KEY, data)
            return settle.replace(self._store, KEY, data, version)
        except (Exists, Changed):
            return None


def _listed(data: bytes) -> tuple[float, bool]:
    """When the last listing began, and whether it was cut; one that is damaged was long ago."""
    try:
        record = decode(data)
        return float(record.get("at", 0.0)), bool(record.get("cut"))
    except (BadInput, AttributeError, TypeError, ValueError):
        return 0.0, False
