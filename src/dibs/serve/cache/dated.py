"""Tasks of a `file:` queue that are over, by when they ended. Only names that came since the last time are looked at.

The times are those of the files, which the kernel keeps to some milliseconds: what ended together comes in any order.
"""

import os
from collections.abc import Iterator
from heapq import merge

MOST_DATED = 300_000  # above that by id, which is by when they were pushed: no file is looked at for it
Ordered = list[tuple[int, str, str]]  # minus its time, name, folder


class Dated:
    """Of one queue, by folder. A name never comes twice, so its time never changes."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[list[str], dict[str, int], Ordered]] = {}

    def newest(self, listed: list[tuple[str, list[str]]]) -> Iterator[tuple[str, str]]:
        """(name, folder) of what is in these folders, what ended last first."""
        if sum(len(names) for _, names in listed) > MOST_DATED:
            self._known.clear()
            for name, folder in merge(
                *[[(name, folder) for name in sorted(names, reverse=True)] for folder, names in listed], reverse=True
            ):
                yield name, folder
            return
        for _, name, folder in merge(*[self._ordered(folder, names) for folder, names in listed]):
            yield name, folder

    def _ordered(self, folder: str, names: list[str]) -> Ordered:
        seen, times, ordered = self._known.get(folder, (None, {}, []))
        if seen is names:
            return ordered
        times = {name: times[name] if name in times else _ended(f"{folder}/{name}") for name in names}
        ordered = sorted((-time, name, folder) for name, time in times.items())
        self._known[folder] = (names, times, ordered)
        return ordered


def _ended(path: str) -> int:
    try:
        return os.stat(path).st_ctime_ns  # the step that ended it gave it this name
    except OSError:
        return 0
