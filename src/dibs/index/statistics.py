"""What an index holds: by the manifest, of which each lock has a part, and the names in the inbox. Reads no record."""

from typing import Any, NamedTuple

from dibs.errors import BadInput
from dibs.index.inbox import Inbox
from dibs.index.lanes import each
from dibs.index.layout import DAMAGED, FILE, all_shards, lock_of
from dibs.index.site import Site
from dibs.lease import Leases
from dibs.states import State
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


def stats(site: Site, inbox: Inbox, leases: Leases) -> Stats:
    now = site.clock.wall()

    def look(shard: str) -> ShardStats:
        names = inbox.listed(shard)
        data, holder = manifest(leases, shard)
        lines, deletions = int(data.get("lines", 0)), int(data.get("deletions", 0))
        return ShardStats(
            shard,
            lines - deletions,
            deletions,
            int(data.get("bytes", 0)),
            len(names),
            max(0.0, now - _written(names[0])) if names and _written(names[0]) else None,
            data.get("compacted_at"),
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


def manifest(leases: Leases, shard: str) -> tuple[dict[str, Any], str | None]:
    """(what was last written to the shard, who holds its lock)."""
    try:
        found = leases.read(lock_of(shard))
    except BadInput:
        return {}, "a damaged lock"
    if found is None:
        return {}, None
    cell, holder = found.record.cell, found.record.holder
    return dict(found.record.data), holder.worker if cell.state is State.CLAIMED and holder else None


def _written(path: str) -> float:
    """When a file of the inbox was written, by its name; 0 where it does not tell."""
    name = path.rpartition("/")[2].removesuffix(FILE)
    return int(name[:12], 16) / 1000 if is_id(name) else 0.0
