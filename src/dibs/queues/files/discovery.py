"""Finding ready tasks without reading the whole queue.

Shards are listed from the highest priority on, starting at a random one, until there are enough tasks to choose
from; claims are served from those, oldest first, until they are used up or old. A small queue is so served
nearly in order. Of a long shard only the oldest part is taken before moving on, so order stays
roughly oldest first and the cost of a claim does not grow with the queue.
"""

import random
from collections.abc import Callable
from operator import itemgetter

from dibs.facets import Facet, Filter
from dibs.queues.files.fs import Fs
from dibs.queues.files.layout import Layout, Ready, is_level, is_shard, ready_names

FRESH_SECONDS = 0.25
ENOUGH = 256
WHOLE = 128
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
        self.level = ""
        self._since = float("-inf")
        self._misses = 0
        self._left_some = False

    def next(self, wanted: Filter, now: float, asked: float) -> Ready | None:
        """A task that was ready at `level` when it was listed, or None after a look at everything since `asked`."""
        if wanted is not self._wanted and wanted != self._wanted:
            self.outdated = True
            self._wanted = wanted
        if self.outdated or now - self._since >= FRESH_SECONDS:
            self._restart(wanted, now)
        while True:
            if self._names:
                return self._names.pop()
            if self._shards:
                self._gather(wanted)
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
        if self._misses >= max(3, len(self._names) // PART):
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
        self.level = self._layout.folder(f"pending/{level}")
        try:
            self._shards = list(filter(is_shard, self._fs.listdir(self.level)))
        except (FileNotFoundError, NotADirectoryError):
            return  # just tidied away, or a stray file
        self._rng.shuffle(self._shards)

    def _gather(self, wanted: Filter) -> None:
        """Enough to choose the oldest from: of a small queue everything, of a large one a part of one shard."""
        names: list[Ready] = []
        listed = shards = 0
        while self._shards and (not names or listed < ENOUGH):
            found = self._list(f"{self.level}/{self._shards.pop()}")
            names += self._choose(found, wanted)
            listed += len(found)
            shards += 1
        if shards > 1:
            names.sort(key=itemgetter(1), reverse=True)
        self._names = names
        self._misses = 0

    def _list(self, folder: str) -> list[str]:
        try:
            return self._fs.listdir(folder)
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _choose(self, found: list[str], wanted: Filter) -> list[Ready]:
        """The oldest of a shard, newest first; noted when some are left."""
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
        return names
