"""What an index holds: by the manifest, of which each lock has a part, and the names in the inbox. Reads no record."""

from typing import Any, NamedTuple

from dibs.index.lanes import each
from dibs.index.layout import DAMAGED, FILE, SHARDS, all_shards, file_of
from dibs.index.manifest import manifest, number_in
from dibs.index.reading import Reader
from dibs.index.site import Site
from dibs.task import is_id


class ShardStats(NamedTuple):
    shard: str
    records: int
    deletions: int
    bytes: int
    inbox: int  # files
    inbox_age: float | None  # seconds since the oldest was written, by the writer's clock
    compacted_at: str | None
    held_by: str | None


class Stats(NamedTuple):
    url: str
    shards: int
    records: int  # in the shards, deletions aside
    deletions: int
    bytes: int
    inbox: int
    inbox_age: float | None
    compacted_at: str | None  # the last time of all
    damaged: int  # files set aside
    each: list[ShardStats]

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "each": [one._asdict() for one in self.each]}


def stats(site: Site, reader: Reader) -> Stats:
    """What is found to be wrong by the way is in the reader's `damages` afterwards."""
    now = site.clock.wall()
    files = set(site.store.list(SHARDS))

    def look(shard: str) -> ShardStats:
        names = reader.listed(shard)
        data, holder = manifest(site, shard)
        lines, deletions = number_in(data, "lines"), number_in(data, "deletions")
        if lines and file_of(shard) not in files:
            reader.check(shard)
        return ShardStats(
            shard,
            lines - deletions,
            deletions,
            number_in(data, "bytes"),
            len(names),
            max(0.0, now - _written(names[0])) if names and _written(names[0]) else None,
            str(data["compacted_at"]) if "compacted_at" in data else None,
            holder,
        )

    found = list(each(site.store.lanes, look, all_shards(site.root.digits)))
    ages = [one.inbox_age for one in found if one.inbox_age is not None]
    times = [one.compacted_at for one in found if one.compacted_at]
    aside = sum(1 for path in site.store.list(DAMAGED) if path.endswith(FILE))
    return Stats(
        site.url,
        site.root.shards,
        sum(one.records for one in found),
        sum(one.deletions for one in found),
        sum(one.bytes for one in found),
        sum(one.inbox for one in found),
        max(ages, default=None),
        max(times, default=None),
        aside,
        [one for one in found if one.bytes or one.inbox or one.held_by],
    )


def _written(path: str) -> float:
    """When a file of the inbox was written, by its name; 0 where it does not tell."""
    name = path.rpartition("/")[2].removesuffix(FILE)
    return int(name[:12], 16) / 1000 if is_id(name) else 0.0
