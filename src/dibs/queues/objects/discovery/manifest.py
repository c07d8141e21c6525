"""A list of ready tasks in the bucket (`names/ready`), shared by everybody: one listing for all, one read for each.

Whoever finds it too old makes a new one and swaps it in from the version seen; of several, one wins, and the others
use that. Ages are measured on the store's clock.
"""

import random

from dibs.clock import Clock
from dibs.errors import BadInput
from dibs.queues.objects.discovery.snapshot import Listed, Snapshot, list_ready, read
from dibs.stores import settle
from dibs.stores.store import Changed, Exists, Store

KEY = "names/ready"
AHEAD = 10.0  # seconds by which clocks may differ; a list from the future is none


class Manifest:
    def __init__(self, store: Store, clock: Clock, rng: random.Random, fresh_seconds: float) -> None:
        self._store = store
        self._clock = clock
        self._rng = rng
        self._fresh = fresh_seconds
        self._asked = float("-inf")
        self._version: str | None = None
        self._snapshot: Snapshot | None = None

    def newest(self) -> Snapshot | None:
        if self._clock.boottime() - self._asked >= self._fresh:
            self._ask()
        return self._snapshot

    def age(self, snapshot: Snapshot) -> float:
        age = self._store.now() - snapshot.made
        return age if age > -AHEAD else float("inf")

    def renew(self, seen: Snapshot | None) -> Snapshot | None:
        self._ask()
        if self._snapshot is seen:
            made = self._store.now()
            self._write(list_ready(self._store, self._rng, seen is not None and seen.cut), made)
        return self._snapshot

    def close(self) -> None:
        """Nothing is held."""

    def _ask(self) -> None:
        self._asked = self._clock.boottime()
        entry = self._store.get(KEY)
        version = None if entry is None else entry.version
        if version == self._version:
            return
        self._version, self._snapshot = version, None
        if entry is not None:
            try:
                self._snapshot = Snapshot(*read(entry.data), self._rng)
            except BadInput:
                return  # damaged: as good as none, and written anew

    def _write(self, listed: Listed, made: float) -> None:
        data = listed.to_bytes(made, nonce=f"{self._rng.getrandbits(64):016x}")  # versions are often made of the bytes
        known = self._snapshot
        if listed.keys or known is None or known.size:  # that there is still nothing is not worth a write
            try:
                if self._version is None:
                    self._version = settle.create(self._store, KEY, data)
                else:
                    self._version = settle.replace(self._store, KEY, data, self._version)
            except (Exists, Changed):  # somebody else has made one: theirs is as good
                self._ask()
                return
        self._asked = self._clock.boottime()
        self._snapshot = Snapshot(*read(data), self._rng)
