"""Finding ready tasks without reading the whole queue.

One shard is listed at a time, highest priority first, starting at a random one; claims are served from
that list until it is used up or old. Of a long shard only the oldest part is taken before moving on, so
order is roughly oldest first and the cost of a claim does not grow with the queue.
"""

import random
from collections.abc import Callable

from dibs.facets import Facet, Filter
from dibs.queues.files.fs import Fs
from dibs.queues.files.layout import Layout, Ready, is_level, is_shard, ready_names

FRESH_SECONDS = 0.25
WHOLE = 64
PART = 4


class Discovery:
    def __init__(self, fs: Fs, layout: Layout, rng: random.Random, facet: Callable[[str], Facet]) -> None:
        self._fs = fs
        self._layout = layout
        self._rng = rng
        self._facet = facet
        self._wanted: Filter | None = None
        self.outdated = False  # set by anybody, at any time: start again from the highest priority
        self._forget()

    def _forget(self) -> None:
        self.outdated = False
        self._names: list[Ready] = []
        self._shards: list[str] = []
        self._levels: list[str] = []
        self.folder = ""
        self._since = float("-inf")
        self._misses = 0
        self._left_some = False

    def next(self, wanted: Filter, now: float, asked: float) -> Ready | None:
        """A task that was ready in `folder` when it was listed, or None after a look at everything since `asked`."""
        if wanted is not self._wanted and wanted != self._wanted:
            self.outdated = True
            self._wanted = wanted
        if self.outdated or now - self._since >= FRESH_SECONDS:
            self._restart(wanted, now)
        while True:
            if self._names:
                return self._names.pop()
            if self._shards:
                self._read(self._shards.pop(), wanted)
            elif self._levels:
                self._enter(self._levels.pop())
            elif self._left_some or self._since < asked:
                self._restart(wanted, now)
            else:
                self._since = float("-inf")
                return None

    def missed(self) -> None:
        """Somebody else took what `next` gave. When that goes on, others work on this shard: leave it to them."""
        self._misses += 1
        if self._misses >= 3:
            self._left_some |= bool(self._names)
            self._names.clear()
            self._misses = 0

    def _restart(self, wanted: Filter, now: float) -> None:
        levels = [name for name in self._fs.listdir(self._layout.folder("pending")) if is_level(name)]
        if wanted.max_priority is not None:
            levels = [level for level in levels if int(level) <= wanted.max_priority]
        self._forget()
        self._levels = sorted(levels)
        self._since = now

    def _enter(self, level: str) -> None:
        self._level = self._layout.folder(f"pending/{level}")
        try:
            self._shards = list(filter(is_shard, self._fs.listdir(self._level)))
        except (FileNotFoundError, NotADirectoryError):
            return  # just tidied away, or a stray file
        self._rng.shuffle(self._shards)

    def _read(self, shard: str, wanted: Filter) -> None:
        self.folder = f"{self._level}/{shard}"
        self._misses = 0
        try:
            found = self._fs.listdir(self.folder)
        except (FileNotFoundError, NotADirectoryError):
            return
        found.sort(reverse=True)
        take = max(WHOLE, len(found) // PART)
        names = [] if wanted else ready_names(found[-take:])
        if not names:  # filtered, or a crowd of files that are not tasks
            names = [name for name in ready_names(found) if not wanted or wanted(self._facet(name[5]))]
            take = max(WHOLE, len(names) // PART)
            self._left_some |= len(names) > take
            names = names[-take:]
        else:
            self._left_some |= len(found) > take
        self._names = names
