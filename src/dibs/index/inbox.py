"""The inbox: files that are written once and never again, many records of one shard in each.

A batch becomes one file a shard, not one a record: a lookup still reads one shard's files and no others, and a hundred
thousand records are 256 files to create, list, read and delete instead of a hundred thousand.
"""

from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any

from dibs.errors import BadInput, StorageError
from dibs.index.block import pack, sorted_lines
from dibs.index.lanes import each
from dibs.index.layout import FILE, inbox_of
from dibs.index.merge import latest
from dibs.index.site import Site
from dibs.stores import settle
from dibs.stores.store import Exists
from dibs.task import new_id

REMEMBERED = 400  # files of a shard that this process wrote


class Inbox:
    """Remembers the files that it has seen: a listing that lags behind does not hide them again."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._seen: dict[str, set[str]] = {}

    def write(self, fields: tuple[str, ...], lines: Iterable[tuple[str, bytes]]) -> int:
        """Store (shard, line) pairs with these fields; one key may have several. When it returns, they are safe."""
        site = self._site
        shards: dict[str, list[bytes]] = {}
        for shard, line in lines:
            shards.setdefault(shard, []).append(line)
        rule = site.rule

        def write(shard: str) -> int:
            chosen = sorted_lines(latest(shards[shard], rule, {}))
            data = pack(fields, chosen, site.nonce())
            while True:
                path = f"{inbox_of(shard)}{new_id(site.clock)}{FILE}"
                try:
                    settle.create(site.store, path, data)
                except Exists:
                    continue
                self._remember(shard, path)
                return len(chosen)

        batch = getattr(site.store, "batch", nullcontext)
        with batch() if len(shards) > 1 else nullcontext():
            return sum(each(site.store.lanes, write, shards))

    def _remember(self, shard: str, path: str) -> None:
        """A file that this process wrote; not for ever, since one that only writes never learns what is gone."""
        seen = self._seen.setdefault(shard, set())
        if len(seen) >= REMEMBERED:
            seen.difference_update(sorted(seen)[: REMEMBERED // 2])
        seen.add(path)

    def listed(self, shard: str) -> list[str]:
        """The files of a shard by the store's listing, oldest first."""
        return [path for path in self._site.store.list(inbox_of(shard)) if path.endswith(FILE)]

    def names(self, shard: str) -> list[str]:
        """The same, and those that were seen before, which may be gone."""
        listed, seen = self.listed(shard), self._seen.get(shard)
        return sorted(seen.union(listed)) if seen else listed

    def read(self, shard: str, names: Iterable[str] | None = None) -> dict[str, bytes | StorageError]:
        """The files of a shard by name; the error of one that cannot be read, or of the folder. What is gone meanwhile
        is in the shard, for whoever reads that afterwards."""
        site = self._site
        try:
            wanted = self.names(shard) if names is None else list(names)
        except StorageError as error:
            site.blame(error)
            return {inbox_of(shard): error}
        found: dict[str, bytes | StorageError] = {}
        for path, entry in zip(wanted, each(site.store.lanes, site.read, wanted), strict=True):
            if entry is not None:
                found[path] = entry if isinstance(entry, StorageError) else entry.data
        seen = self._seen.setdefault(shard, set())
        seen.difference_update([path for path in wanted if path not in found])
        if names is None:
            seen.update(found)
        return found

    def merged(self, shard: str, names: Iterable[str]) -> None:
        """Delete exactly these, whose records are in the shard."""
        for path in names:
            self._site.store.discard(path)
            self._seen.get(shard, set()).discard(path)


def text_of(value: Any, name: str) -> str | None:
    """How a value is kept: text as it is, none as missing, anything else as JSON."""
    if value is None or isinstance(value, str):
        return value
    import json

    try:
        return json.dumps(
            value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, sort_keys=isinstance(value, dict)
        )
    except (TypeError, ValueError):
        raise BadInput(f"field {name!r} has {value!r}, which is neither text nor JSON") from None
