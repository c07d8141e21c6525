"""Listings of folders, remembered. A folder's times change with every name that comes or goes, so one look at them says
whether the listing still holds: no event can be missed, and what another process did is seen at once.

A folder that changed so lately that another change could leave the same times is listed again.
"""

import os

from dibs.clock import SYSTEM, Clock
from dibs.queues.files.fs import LocalFs
from dibs.specs.cache import NO_STAMP, STAMP, stamp_of

MOST_FOLDERS = 20_000
Stamp = tuple[int, ...]


def settled(stat: os.stat_result, now: float) -> bool:
    """Whether any further change would show in the times."""
    return stamp_of(stat, now) != NO_STAMP


class KnownFolders(LocalFs):
    def __init__(self, clock: Clock = SYSTEM) -> None:
        self._clock = clock
        self._known: dict[str, tuple[Stamp, list[str]]] = {}
        self.asked: set[str] = set()  # all that were looked at, for whoever empties it before
        self.listed = 0  # how often one had to be listed, or was not there

    def listdir(self, path: str) -> list[str]:  # type: ignore[override]
        """As `os.listdir`; the same list as the last time when nothing changed, so nobody may change it."""
        self.asked.add(path)
        try:
            stat = os.stat(path)  # before listing: a change meanwhile shows in the next one
        except OSError:
            self.listed += 1
            self._known.pop(path, None)
            raise
        stamp: Stamp = STAMP(stat)
        known = self._known.get(path)
        if known is not None and known[0] == stamp:
            return known[1]
        self.listed += 1
        now = self._clock.wall()
        names = os.listdir(path)
        if settled(stat, now):
            if len(self._known) >= MOST_FOLDERS:
                self._known.clear()
            self._known[path] = (stamp, names)
        else:
            self._known.pop(path, None)
        return names
