"""More shards, or fewer: everything is put into a new index beside the old one.

Merging is idempotent, so this may be done while others write to the old index, and again when they have changed over;
the second time brings what came in between.
"""

from typing import TYPE_CHECKING, NamedTuple

from dibs.errors import BadInput, Refused
from dibs.index.opening import place
from dibs.index.schema import Schema
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
    """Bring all of `source`, deletions too, to the index at `url`, which is created with `shards`; and compact it. What
    could not be read is in `source.damages` afterwards."""
    if place(url) == source.place:
        raise BadInput("an index cannot be resharded into itself; give the URL of a new one")
    with _target(source, url, shards) as target:
        root, there = source.site.root, target.site.root
        if (there.merge, there.keys) != (root.merge, root.keys):
            ways = f"merge={there.merge} and keys={there.keys}, not {root.merge} and {root.keys}"
            raise Refused(f"{target.site.url} has {ways}; use a new index")
        _bring_fields(source.site.look_again(), target)
        records = deletions = 0
        waiting: list[tuple[str, bytes]] = []
        for block in source.blocks():
            if block is not None and not target.schema.fits(block.fields):
                _bring_fields(source.schema, target)  # a field was added meanwhile
            width = len(target.schema.fields)
            lines = block.all() if block is not None else []
            gone = sum(map(is_deletion, lines))
            records, deletions = records + len(lines) - gone, deletions + gone
            waiting += [(target.site.shard_of(values_of(line)[0] or ""), widened(line, width)) for line in lines]
            if len(waiting) >= PACK:
                target.bring(waiting)
                waiting = []
        target.bring(waiting)
        target.compact()
        return Resharded(target.site.url, there.shards, records, deletions)


def _target(source: "Index", url: str, shards: int | None) -> "Index":
    """The index there, which must have `shards` if these are given; or a new one, as the source is for the rest."""
    from dibs.index.index import Index

    clock, schema, root = source.site.clock, source.schema, source.site.root
    found = Index(url, shards=shards, clock=clock)
    if found.site.exists:
        return found
    return Index(
        url,
        fields=schema.own,
        key=schema.key,
        time=schema.time,
        shards=shards or root.shards,
        merge=root.merge,
        keys=root.keys,
        stamps=root.time,
        clock=clock,
    )


def _bring_fields(schema: Schema, target: "Index") -> None:
    """Those that were added to the source since; others the target may have got itself."""
    there = target.site.look_again()
    if there.fits(schema.fields):
        return
    if schema.fits(there.fields):
        target.add_fields(*schema.fields[len(there.fields) :])
        return
    here, given = ", ".join(there.shown), ", ".join(schema.shown)
    raise Refused(f"{target.site.url} has the fields {here}, not {given}; use a new index")
