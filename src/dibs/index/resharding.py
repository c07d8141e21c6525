"""More shards, or fewer: everything is put into a new index beside the old one.

Merging is idempotent, so this may be done while others write to the old index, and again when they have changed over;
the second time brings what came in between.
"""

from typing import TYPE_CHECKING, NamedTuple

from dibs.errors import BadInput, Refused
from dibs.index.usv import is_deletion, values_of, widened
from dibs.index.writing import PACK

if TYPE_CHECKING:
    from dibs.index.index import Index


class Resharded(NamedTuple):
    url: str
    shards: int
    records: int
    deletions: int


def reshard(source: "Index", url: str, *, shards: int | None = None) -> Resharded:
    """Bring all of `source`, deletions too, to the index at `url`, which is created with `shards`; and compact it."""
    from dibs.index.index import Index

    schema, root = source.schema, source.site.root
    target = Index(
        url,
        key=schema.key,
        time=schema.time,
        shards=shards or root.shards,
        merge=root.merge,
        keys=root.keys,
        stamps=root.time,
        clock=source.site.clock,
    )
    with target:
        if target.site.url == source.site.url:
            raise BadInput("an index cannot be resharded into itself; give the URL of a new one")
        target.site.insist(schema.shown)
        there = target.site.root
        if (there.merge, there.keys) != (root.merge, root.keys):
            ways = f"merge={there.merge} and keys={there.keys}, not {root.merge} and {root.keys}"
            raise Refused(f"{target.site.url} has {ways}; use a new index")
        records = deletions = 0
        width = len(schema.fields)
        waiting: list[tuple[str, bytes]] = []
        for block in source.blocks():
            lines = block.all() if block is not None else []
            gone = sum(map(is_deletion, lines))
            records, deletions = records + len(lines) - gone, deletions + gone
            waiting += [(target.site.shard_of(values_of(line)[0] or ""), widened(line, width)) for line in lines]
            if len(waiting) >= PACK:
                target.bring(waiting)
                waiting = []
        target.bring(waiting)
        target.compact()
        return Resharded(target.site.url, target.site.root.shards, records, deletions)
