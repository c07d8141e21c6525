"""Which shards to compact: spread by chance, so that any number of workers seldom meet.

A worker takes a random page of the inbox's listing and a random shard from it. When the whole inbox is on one page it
takes all of its shards, in random order.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from dibs.errors import BadInput, StorageError
from dibs.index.compactor import CHANGED, HELD, MERGED, UNSURE, Compactor, Done
from dibs.index.lanes import each
from dibs.index.layout import FILE, INBOX, all_shards, is_shard
from dibs.index.site import Site

PAGE = 1000
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 5.0
SHARDS_AT_ONCE = 8  # in memory, where a store has lanes
BUSY = (HELD, CHANGED, UNSURE)


class Passes:
    def __init__(self, site: Site, compactor: Compactor) -> None:
        self._site = site
        self.compactor = compactor

    def one(self, shard: str) -> Done:
        """One shard, all that waits there. BadInput when there is no such shard."""
        if not is_shard(shard, self._site.root.digits):
            digits = self._site.root.digits
            raise BadInput(f"shard {shard!r} is not acceptable; use {digits} hex digits, such as {'3fa7'[:digits]}")
        done = self.compactor.compact(shard)
        while done.outcome == MERGED and (more := self.compactor.compact(shard)).outcome == MERGED:
            done = more._replace(
                files=done.files + more.files, records=done.records + more.records, damages=done.damages + more.damages
            )
        return done

    def once(self) -> Iterator[Done]:
        """One page: one of its shards, or all when there is no more than the page."""
        waiting, whole = self._page()
        shards = list(waiting)
        self._site.rng.shuffle(shards)
        for shard in shards:
            done = self.compactor.compact(shard, waiting[shard] if whole else None)
            yield done
            if done.outcome == MERGED and not whole:
                return

    def all(self, *, wait: bool = True) -> Iterator[Done]:
        """Until nothing waits. What others hold is waited for, unless `wait` is off."""
        clock = self._site.clock
        pause = FIRST_PAUSE
        self.sweep()
        while True:
            shards = self.waiting()
            self._site.rng.shuffle(shards)
            held = worked = False
            for done in self._several(shards):
                yield done
                held |= done.outcome in BUSY
                worked |= done.outcome == MERGED
            if worked:
                pause = FIRST_PAUSE
                continue
            if not held or not wait:
                return
            clock.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    def _several(self, shards: Sequence[str]) -> Iterator[Done]:
        """One after another, or a few at once where each request is a journey."""
        lanes = min(SHARDS_AT_ONCE, self._site.store.lanes)
        for first in range(0, len(shards), lanes):
            yield from each(lanes, self.compactor.compact, shards[first : first + lanes])

    def watch(
        self, idle: float, stopped: Callable[[], bool], trouble: Callable[[StorageError], None] | None = None
    ) -> Iterator[Done]:
        """A pass after another, with a pause of up to `idle` seconds when there was nothing to do or no store."""
        pause = min(FIRST_PAUSE, idle)
        self.sweep()
        while not stopped():
            worked = False
            try:
                for done in self.once():
                    yield done
                    worked |= done.outcome == MERGED
            except StorageError as error:
                if trouble is None:
                    raise
                trouble(error)
            pause = min(FIRST_PAUSE, idle) if worked else min(pause * 2, idle)
            if not worked:
                self._site.clock.sleep(pause * (0.5 + self._site.rng.random()))

    def sweep(self) -> None:
        """Remove what writers that died left half written, where a store has such things."""
        sweep = getattr(self._site.store, "sweep", None)
        if sweep is not None:
            sweep()

    def waiting(self) -> list[str]:
        """The shards that may have something in their inbox."""
        digits = self._site.root.digits
        return [shard for shard in self._site.store.folders(INBOX) if is_shard(shard, digits)]

    def _page(self) -> tuple[dict[str, list[str]], bool]:
        """Inbox files by shard, from a random place on; and whether these are all."""
        site = self._site
        first = next(islice(all_shards(site.root.digits), site.rng.randrange(site.root.shards), None))
        after = f"{INBOX}{first}/!"  # before all names in it; some servers pass over a folder that is named itself
        paths = list(islice(site.store.list(INBOX, after), PAGE))
        whole = False
        if len(paths) < PAGE:
            before = [path for path in islice(site.store.list(INBOX), PAGE - len(paths)) if path < after]
            whole = len(before) + len(paths) < PAGE
            paths += before
        found: dict[str, list[str]] = {}
        for path in paths:
            shard, _, name = path[len(INBOX) :].partition("/")
            if is_shard(shard, site.root.digits) and name.endswith(FILE):
                found.setdefault(shard, []).append(path)
        return found, whole
