"""What the daemon claimed for threads that were waiting. Each takes its own with its next look; what is not taken goes
back. Safe for threads without a lock, and in a forked child, which has no part in its parent's."""

import os
import threading

from dibs.facets import Filter
from dibs.queues.held import Lease

Kind = tuple[float, Filter]


class Gifts:
    def __init__(self) -> None:
        self._given: dict[tuple[int, int], tuple[Kind, list[Lease]]] = {}
        self._over = False

    @property
    def here(self) -> bool:
        """Whether this thread has one that it has not taken."""
        return _mine() in self._given

    def put(self, kind: Kind, leases: list[Lease]) -> list[Lease]:
        """For this thread; returns them when nobody will take them any more."""
        self._given[_mine()] = (kind, leases)
        return self.take()[1] if self._over else []

    def take(self) -> tuple[Kind | None, list[Lease]]:
        return self._given.pop(_mine(), (None, []))

    def close(self) -> list[Lease]:
        """Those of all threads. One that is put later goes back too."""
        self._over = True
        names = [name for name in list(self._given) if name[0] == os.getpid()]
        return [lease for name in names for lease in self._given.pop(name, (None, []))[1]]


def _mine() -> tuple[int, int]:
    return os.getpid(), threading.get_ident()
