"""An index: the latest record of every key, in a folder or a bucket, written to by any number of machines.

    index = dibs.Index("indexes/domains")
    index.put("example.com", {"title": "Example", "status": "200"})
    index.get("example.com")
    index.compact()

Writing drops small files into an inbox; compacting merges them into shards. Reading sees both, at every moment.
Values are text; None is a field that is missing, which an empty one is not.
"""

import random
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dibs.clock import SYSTEM, Clock
from dibs.errors import StorageError
from dibs.host import Host, this_host
from dibs.index.block import Block
from dibs.index.compactor import LOCK_SECONDS, Compactor, Done
from dibs.index.inbox import Inbox
from dibs.index.lanes import each
from dibs.index.layout import all_shards, normalised_prefix
from dibs.index.opening import Opened, anywhere, open_store, place
from dibs.index.passes import Passes
from dibs.index.reading import Reader, live, record_of
from dibs.index.schema import KEY, TIME, Schema
from dibs.index.site import Site
from dibs.index.times import Stamps
from dibs.index.usv import Value, is_deletion
from dibs.index.where import Where, conditions
from dibs.index.writing import When, Writer

if TYPE_CHECKING:
    from dibs.index.checks import Finding
    from dibs.index.parts import Damage
    from dibs.index.statistics import Stats

IDLE_SECONDS = 30.0


class Index:
    """Safe for threads. Close it, or use it in a `with`, so that what was merged is deleted at once."""

    def __init__(
        self,
        url: str,
        *,
        fields: Sequence[str] = (),
        key: str | None = None,
        time: str | None = None,
        shards: int | None = None,
        merge: str | None = None,
        keys: str | None = None,
        stamps: str | None = None,
        create: bool = True,
        clock: Clock = SYSTEM,
        rng: random.Random | None = None,
        host: Host | None = None,
        opened: Opened | None = None,
        ttl: float = LOCK_SECONDS,
    ) -> None:
        """With `fields` (all but `key` and `time`) the index is created now, or its fields are checked; else the first
        record says which there are. `key` ("key") and `time` ("updated_at") name those two fields; these, `shards`
        (256), `merge` ("record", "fields"), `keys` ("text", "domain") and `stamps` ("writer", "store": whose clock) are
        settled at creation, and an index that has others than are given here is refused."""
        rng = random.Random() if rng is None else rng
        settled = {"shards": shards, "merge": merge, "keys": keys, "time": stamps}
        alone = opened is not None or clock is not SYSTEM or host is not None  # no other process could have the same
        opened = opened or open_store(url, clock=clock, rng=rng)
        self.place = place(url)  # the same for whatever URL of it
        self.site = Site(
            url,
            opened.store,
            opened.locks,
            clock=clock,
            rng=rng,
            host=host or this_host(),
            wanted={name: value for name, value in settled.items() if value is not None},
            names=(key, time),
            found=opened.found,
        )
        self.names = (key or KEY, time or TIME)
        self._inbox = Inbox(self.site)
        self._reader = Reader(self.site, self._inbox)
        compactor = Compactor(self.site, self._inbox, ttl=ttl)
        self._passes = Passes(self.site, compactor, None if alone else anywhere(url))
        self._writer = Writer(self.site, self._inbox, Stamps(self._now), self.names, create=create)
        if fields:
            self.site.insist([*self.names, *fields])

    def _now(self) -> float:
        """Where there is no index yet the store has no clock either; the writer asks again when there is one."""
        if self.site.settings.time != "store":
            return self.site.clock.wall()
        return self.site.store.now() if self.site.exists else 0.0

    # Writing

    def put(
        self, key: str, fields: Mapping[str, Any] | None = None, *, updated_at: When | None = None,
        sparse: bool = False,
    ) -> None:  # fmt: skip
        """One record. Without a time it gets one, later than all that this object gave before."""
        self._writer.put(key, fields or {}, updated_at, sparse=sparse)

    def put_many(self, records: Iterable[Mapping[str, Any]], *, sparse: bool = False) -> int:
        """Many records, each with its key under the key's name; how many. One file a shard for each 100,000."""
        return self._writer.put_many(records, sparse=sparse)

    def check(self, records: Sequence[Mapping[str, Any]], *, sparse: bool = False) -> None:
        """Raises what `put_many` would raise, and writes nothing."""
        self._writer.check(records, sparse=sparse)

    def delete(self, key: str, *, updated_at: When | None = None) -> None:
        """A record that the key is gone, which wins or loses by its time as any other."""
        self._writer.delete(key, updated_at)

    def bring(self, lines: Iterable[tuple[str, bytes]]) -> int:
        """Lines of another index, with all fields of this one's schema, each with its shard here."""
        return self._inbox.write(self.schema.fields, lines)

    # Reading

    def get(self, key: str) -> dict[str, Value] | None:
        """The latest record, or None. Reads one shard and its inbox. StorageError when what cannot be read of these may
        have it."""
        site = self.site
        site.root  # noqa: B018  (says that there is no index)
        line = self._reader.line(site.normalised(key))
        if line is None or is_deletion(line):
            return None
        record = record_of(line, site.schema.fields)
        return {name: record[name] for name in site.schema.shown}

    def scan(
        self, *, prefix: str = "", where: str | Iterable[str] = (), columns: str | Sequence[str] = ()
    ) -> Iterator[dict[str, Value]]:
        """All records, shard by shard, sorted by key in each. `where`: conditions such as `status=200`. The fields are
        those that there are when it begins. What cannot be read is left out, and is in `damages` afterwards."""
        chosen = self.choose(prefix, where, columns)
        for block in self.blocks():
            for line in live(block):
                if (record := chosen.record(line)) is not None:
                    yield record

    def choose(self, prefix: str = "", where: str | Iterable[str] = (), columns: str | Sequence[str] = ()) -> Where:
        """Which records, and what of them, by the schema as it is now."""
        root, schema = self.site.root, self.site.look_again()
        return Where(
            schema.fields,
            normalised_prefix(prefix, root.keys),
            conditions(where, schema.fields),
            columns or schema.shown,
        )

    def blocks(self) -> Iterator[Block | None]:
        """Every shard, inbox and file together; None for one that has nothing."""
        shards = list(all_shards(self.site.root.digits))
        lanes = self.site.store.lanes
        for first in range(0, len(shards), lanes):
            yield from each(lanes, self._reader.shard, shards[first : first + lanes])

    def read(self, form: str = "polars", **chosen: Any) -> Any:
        """All records as a `polars` frame, an `arrow` table or a `duckdb` relation; `chosen` and
        `damages` as for `scan`."""
        from dibs.index.tables import read

        return read(self, form, **chosen)

    def sql(self, query: str) -> Any:
        """The answer of DuckDB, as a relation; the records are the table `records`. `damages` as for `scan`."""
        from dibs.index.tables import sql

        return sql(self, query)

    # Compacting

    def compact(self, shard: str | None = None, *, jobs: int = 1) -> list[Done]:
        """Merge all that waits, of one shard or of all, and return what became of each. `jobs` as for `compact_all`."""
        if shard is not None:
            return [self._passes.one(shard)]
        return list(self._passes.all(jobs=jobs))

    def compact_once(self) -> Iterator[Done]:
        """One step of one of many workers: a random shard of a random page of the inbox, or all of a small one."""
        return self._passes.once()

    def compact_all(
        self, *, wait: bool = True, jobs: int = 1, begun: Callable[[int], None] = lambda shards: None
    ) -> Generator[Done, None, None]:
        """Until nothing waits; what others are compacting is waited for. `jobs`: in up to as many processes, where
        there is enough to do. They are started anew, not forked, so threads are no obstacle; closing this ends them.
        `begun` is told, at the beginning of each pass, how many shards wait."""
        return self._passes.all(wait=wait, jobs=jobs, begun=begun)

    def compact_these(self, shards: Iterable[str]) -> Iterator[Done]:
        """What waits for each of these."""
        return self._passes.these(shards)

    def compact_watch(
        self,
        idle: float = IDLE_SECONDS,
        stopped: Callable[[], bool] = lambda: False,
        trouble: Callable[[StorageError], None] | None = None,
        resting: Callable[[], None] = lambda: None,
    ) -> Iterator[Done]:
        """Until `stopped`. `idle`: the longest pause when there is nothing to do; `resting` is called before it.
        `trouble` is told what the store refused, and it goes on; without it that is raised."""
        return self._passes.watch(idle, stopped, trouble, resting)

    def waiting(self) -> list[str]:
        """The shards that have something in their inbox. One that cannot be listed is in `damages` instead."""
        return [shard for shard in self._passes.waiting() if self._reader.listed(shard)]

    # Looking after it

    @property
    def schema(self) -> Schema:
        return self.site.schema

    def add_fields(self, *names: str) -> Schema:
        """At the end; what is stored has them missing."""
        return self.site.extend(names)

    def stats(self) -> "Stats":
        from dibs.index.statistics import stats

        return stats(self.site, self._reader)

    def verify(self) -> "list[Finding]":
        """What is wrong with what is stored. Changes nothing."""
        from dibs.index.checks import verify

        return verify(self.site, self._inbox, self._passes.compactor.leases)

    def repair(self) -> "list[Finding]":
        """Set right what `verify` finds; damaged files are kept aside. Returns what was done."""
        from dibs.index.mending import repair

        return repair(self.site, self._inbox, self._passes.compactor)

    @property
    def damages(self) -> "list[Damage]":
        """The files that reading, `stats` and `waiting` have met so far and that could not be read in full."""
        return list(self._reader.damages.values())

    def close(self) -> None:
        flush = getattr(self.site.store, "flush", None)
        if flush is not None:
            flush()

    def __enter__(self) -> "Index":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
