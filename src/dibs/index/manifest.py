"""What was last written to a shard, as its lock says: the shard's part of the manifest."""

from collections.abc import Mapping
from typing import Any

from dibs.errors import BadInput
from dibs.index.layout import lock_of
from dibs.index.site import Site
from dibs.lease import seen
from dibs.states import State


def manifest(site: Site, shard: str) -> tuple[dict[str, Any], str | None]:
    """(what was last written to the shard, who holds its lock)."""
    entry = site.locks.get(lock_of(shard))
    if entry is None:
        return {}, None
    try:
        record = seen(entry).record
    except BadInput:
        return {}, "a damaged lock"
    return dict(record.data), record.holder.worker if record.cell.state is State.CLAIMED and record.holder else None


def lines_told(site: Site, shard: str) -> int:
    """How many lines the shard's file should have; 0 where nothing says so."""
    return number_in(manifest(site, shard)[0], "lines")


def number_in(manifest: Mapping[str, Any], name: str) -> int:
    """0 where it says nothing, or nonsense."""
    value = manifest.get(name, 0)
    return value if isinstance(value, int) else 0
