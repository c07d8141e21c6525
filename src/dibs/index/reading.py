"""Reading inbox and shard together, right at every moment.

The inbox first, the shard last: a file that is gone from the inbox by then was merged before it was deleted, so the
shard has it. Read the other way round, a record could be in neither.
"""

from collections.abc import Iterator

from dibs.index.block import Block
from dibs.index.inbox import Inbox
from dibs.index.layout import file_of
from dibs.index.locate import locate
from dibs.index.merge import Merged, merged
from dibs.index.parts import Damage, Part, open_part, updates
from dibs.index.site import Site
from dibs.index.usv import Value, is_deletion, line_of, values_of, widened


class Reader:
    def __init__(self, site: Site, inbox: Inbox) -> None:
        self._site = site
        self._inbox = inbox
        self.damages: dict[str, Damage] = {}  # files met so far that could not be read in full, by path

    def line(self, key: str) -> bytes | None:
        """The latest line of a key, a deletion too; from one shard and its inbox."""
        site = self._site
        shard = site.shard_of(key)
        wanted, found = line_of([key]), None
        for part in self._parts(shard):
            block = part.block
            start, end = locate(block.data, wanted, block.start)
            if start == end:
                continue
            line = widened(block.data[start : end - 2], len(site.schema.fields))
            found = line if found is None else site.rule(found, line)
        return found

    def shard(self, shard: str) -> Block | None:
        """All of a shard at one moment; None when there is nothing."""
        site = self._site
        *inbox, last = self._parts(shard, whole=True)
        stored = last.block if last.block.data else None
        new = merged(stored, updates(site, inbox), site.schema.fields, site.rule, "")
        return stored if new is None else _block(new, site.schema.fields)

    def _parts(self, shard: str, *, whole: bool = False) -> Iterator[Part]:
        """The files of the inbox, then the shard; with `whole` an empty one when there is none."""
        site = self._site
        files = list(self._inbox.read(shard).items())
        path = file_of(shard)
        entry = site.store.get(path)
        if entry is not None:
            files.append((path, entry.data))
        for name, data in files:
            part = open_part(site, name, shard, data)
            if part.damage is not None:
                self.damages[name] = part.damage
            yield part
        if entry is None and whole:
            yield Part(Block(site.schema.fields, b"", 0, 0, 0), None)


def _block(new: Merged, fields: tuple[str, ...]) -> Block:
    return Block(fields, new.data, new.data.find(b"\x1e\n") + 2, new.lines, new.deletions)


def record_of(line: bytes, fields: tuple[str, ...]) -> dict[str, Value]:
    """The fields by name."""
    values = values_of(line)
    values += [None] * (len(fields) - len(values))
    return dict(zip(fields, values, strict=True))


def live(block: Block | None) -> list[bytes]:
    """The lines that are no deletions."""
    if block is None:
        return []
    lines = block.all()
    return [line for line in lines if not is_deletion(line)] if block.deletions else lines
