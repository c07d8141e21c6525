"""The files of a folder of specs as they were read, and whether that still holds."""

import os
import threading
from collections.abc import Callable, Iterable

from dibs.clock import SYSTEM, Clock
from dibs.serve.cache.again import FEW, all_again, some_again
from dibs.serve.cache.folders import Stamp, settled
from dibs.specs.cache import STAMP, Snapshot
from dibs.specs.listing import Listing
from dibs.specs.spec import Broken, Spec

MOST_SPECS = 1_000  # as values; the rest is kept as it was read
Specs = dict[str, tuple[str, Spec | Broken]]


class KnownListing:
    """Called by the catalogue, which lets one in at a time. `look` reads the whole folder, and says what is wrong."""

    def __init__(self, folder: str, look: Callable[[], Listing], clock: Clock = SYSTEM) -> None:
        self.watched = False  # whoever watches says so when a file may have changed
        self._folder = folder
        self._look = look
        self._clock = clock
        self._listing: RememberingListing | None = None
        self._stamp: Stamp | None = None
        self._lock = threading.Lock()
        self._changed: set[str] = set()
        self._doubtful = True
        self._outside = False
        self._specs: Specs = {}

    def tell(self, names: Iterable[str] = (), *, outside: bool = False) -> None:
        """These files have changed; `outside`: or one that was put away."""
        with self._lock:
            self._changed.update(names)
            self._outside |= outside

    def doubt(self) -> None:
        """Any may have, and nobody told."""
        with self._lock:
            self._doubtful = self._outside = True

    def __call__(self) -> Listing:
        with self._lock:
            changed, doubtful, outside = self._changed, self._doubtful, self._outside
            self._changed, self._doubtful, self._outside = set(), False, False
        try:
            return self._anew(changed, doubtful, outside)
        except BaseException:
            self.tell(changed, outside=outside)
            self.doubt()
            raise

    def _anew(self, changed: set[str], doubtful: bool, outside: bool) -> Listing:
        stamp = self._stamp_now()
        now = self._clock.wall()
        before = self._listing
        snapshot: Snapshot | None = None
        if before is not None:
            snapshot = before._snapshot
            same_names = stamp is not None and stamp == self._stamp
            if not self.watched or doubtful or not same_names or len(changed) > FEW:
                snapshot = all_again(snapshot, self._folder, now)
            elif changed:
                snapshot = some_again(snapshot, self._folder, changed, before.by_name, now)
        if snapshot is None:
            snapshot = self._look()._snapshot
        self._stamp = stamp
        if before is None or outside or not self.watched or snapshot is not before._snapshot:
            self._listing = before = RememberingListing(self._folder, snapshot, self._specs, before)
        return before

    def _stamp_now(self) -> Stamp | None:
        """None while another change could leave the same."""
        now = self._clock.wall()
        try:
            stat = os.stat(self._folder)
        except OSError:
            return None  # looking says what is wrong
        stamp: Stamp = STAMP(stat)
        return stamp if settled(stat, now) else None


class RememberingListing(Listing):
    """With some of its specs kept as values, and what an earlier one of the same names has worked out."""

    def __init__(self, folder: str, snapshot: Snapshot, specs: Specs, before: "RememberingListing | None") -> None:
        super().__init__(folder, snapshot)
        self._specs = specs
        self.by_name: dict[str, int]
        if before is not None and before._snapshot.names is snapshot.names:
            self.ids, self.by_name = before.ids, before.by_name
        else:
            self.by_name = {name: place for place, name in enumerate(snapshot.names)}

    def at(self, place: int) -> Spec | Broken:
        name, line = self._snapshot.names[place], self._snapshot.lines[place]
        known = self._specs.get(name)
        if known is not None and known[0] is line:
            return known[1]
        spec = super().at(place)
        if len(self._specs) >= MOST_SPECS:
            self._specs.clear()
        self._specs[name] = (line, spec)
        return spec
