"""Which shards to compact: spread by chance, so that any number of workers seldom meet.

A worker takes a random page of the inbox's listing and a random shard from it. When the whole inbox is on one page it
takes all of its shards, in random order. Whoever asks for all that waits may have several processes do it (`crew`).
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING

from dibs.errors import BadInput, StorageError
from dibs.index.compactor import CHANGED, HELD, MERGED, NOTHING, UNSURE, Compactor, Done
from dibs.index.lanes import each
from dibs.index.layout import FILE, INBOX, all_shards, is_shard
from dibs.index.site import Site

if TYPE_CHECKING:
    from dibs.index.crew import Crew

PAGE = 1000
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 5.0
SHARDS_AT_ONCE = 8  # in memory, where a store has lanes
TRIED = 8  # shards after which it is known how long a pass takes
WORTH_SECONDS = 0.5  # of what is left, that are worth starting processes for
BUSY = (HELD, CHANGED, UNSURE)


class Passes:
    def __init__(self, site: Site, compactor: Compactor, url: str | None = None) -> None:
        """`url`: by which other processes can open it; None when they cannot."""
        self._site = site
        self._url = url
        self.compactor = compactor

    def one(self, shard: str) -> Done:
        """One shard, all that waits there; what others are compacting is waited for. BadInput when there is no such
        shard."""
        if not is_shard(shard, self._site.root.digits):
            digits = self._site.root.digits
            raise BadInput(f"shard {shard!r} is not acceptable; use {digits} hex digits, such as {'3fa7'[:digits]}")
        pause = FIRST_PAUSE
        found: list[Done] = []
        while True:
            done = self.compactor.compact(shard)
            if done.outcome in BUSY:
                self._site.clock.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
                continue
            if done.outcome != MERGED:
                return _as_one(found, done)
            found.append(done)

    def once(self) -> Iterator[Done]:
        """One page: one of its shards, or all when there is no more than the page."""
        waiting: Mapping[str, Sequence[str] | None]
        try:
            waiting, whole = self._page()
        except StorageError as error:  # of one folder, perhaps: then the others are taken one by one
            self._site.blame(error)
            waiting, whole = dict.fromkeys(self.waiting()), True
        if not waiting:
            self._site.still_there()
        shards = list(waiting)
        self._site.rng.shuffle(shards)
        for shard in shards:
            done = self.compactor.compact(shard, waiting[shard] if whole else None)
            yield done
            if done.outcome == MERGED and not whole:
                return

    def all(
        self, *, wait: bool = True, jobs: int = 1, begun: Callable[[int], None] = lambda shards: None
    ) -> Generator[Done, None, None]:
        """Until nothing waits. What others hold is waited for, unless `wait` is off. `jobs`: in up to as many
        processes, this one among them, where there is enough to do; closing it ends them. `begun` is told of each pass
        how many shards it has."""
        clock = self._site.clock
        pause = FIRST_PAUSE
        self.sweep()
        while True:
            shards = self.waiting()
            self._site.rng.shuffle(shards)
            held = worked = False
            begun(len(shards))
            with closing(self._pass(shards, jobs)) as steps:
                for done in steps:
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

    def _pass(self, shards: Sequence[str], jobs: int) -> Generator[Done, None, None]:
        """Each of them once."""
        if jobs < 2 or self._url is None or len(shards) <= TRIED:
            yield from self.these(shards)
            return
        from dibs.index.crew import Crew

        untold = set(shards)
        with Crew(self._url, self.compactor.ttl, shards) as crew:
            for done in self._together(crew, len(shards), jobs):
                untold.discard(done.shard)
                yield done
        for shard in untold:  # of a process that died
            yield Done(shard, UNSURE)

    def _together(self, crew: "Crew", count: int, jobs: int) -> Iterator[Done]:
        """Others help once something was merged and what is left, at the pace so far, is worth it."""
        clock = self._site.clock
        begun = clock.boottime()
        merged = worth = False
        for number, done in enumerate(self.these(crew.names()), 1):
            yield done
            merged |= done.outcome == MERGED
            if merged and not worth and number >= TRIED:
                worth = (clock.boottime() - begun) / number * (count - number) > WORTH_SECONDS
                if worth:
                    crew.start(jobs - 1)
            yield from crew.heard()
        yield from crew.rest()

    def these(self, shards: Iterable[str]) -> Iterator[Done]:
        """One after another, or a few at once where each request is a journey."""
        lanes = min(SHARDS_AT_ONCE, self._site.store.lanes)
        names = iter(shards)
        while some := list(islice(names, lanes)):
            yield from each(lanes, self.compactor.compact, some)

    def watch(
        self,
        idle: float,
        stopped: Callable[[], bool],
        trouble: Callable[[StorageError], None] | None = None,
        resting: Callable[[], None] = lambda: None,
    ) -> Iterator[Done]:
        """A pass after another, with a pause of up to `idle` seconds when there was nothing to do or no store;
        `resting` is called before each."""
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
                resting()
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


def _as_one(merged: Sequence[Done], last: Done) -> Done:
    """As one: what was merged, and the last, which was not."""
    if not merged:
        return last
    damages = {damage.path: damage for done in (*merged, last) for damage in done.damages}
    return merged[-1]._replace(
        outcome=MERGED if last.outcome == NOTHING else last.outcome,
        files=sum(done.files for done in merged),
        records=sum(done.records for done in merged),
        damages=tuple(damages.values()),
    )
