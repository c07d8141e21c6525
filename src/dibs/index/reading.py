"""Reading inbox and shard together, right at every moment.

The inbox first, the shard last: a file that is gone from the inbox by then was merged before it was deleted, so the
shard has it. Read the other way round, a record could be in neither.
"""

from collections.abc import Iterator

from dibs.errors import StorageError
from dibs.index.block import Block
from dibs.index.inbox import Inbox
from dibs.index.layout import file_of, inbox_of
from dibs.index.locate import locate
from dibs.index.manifest import lines_told
from dibs.index.merge import Merged, merged
from dibs.index.parts import Damage, Part, open_part, updates
from dibs.index.site import Site
from dibs.index.usv import Value, is_deletion, line_of, values_of, widened
from dibs.stores.store import Entry


class Reader:
    def __init__(self, site: Site, inbox: Inbox) -> None:
        self._site = site
        self._inbox = inbox
        self.damages: dict[str, Damage] = {}  # files met so far that could not be read in full, by path

    def line(self, key: str) -> bytes | None:
        """The latest line of a key, a deletion too; from one shard and its inbox. The error of a file that cannot be
        used, or is damaged and has not the key: it may have, or have had, a later one."""
        site = self._site
        shard = site.shard_of(key)
        wanted, found = line_of([key]), None
        for part in self._parts(shard):
            if part.error is not None:
                raise part.error
            block = part.block
            start, end = locate(block.data, wanted, block.start)
            if start == end:
                if part.damage is not None and part.damage.lost_some:
                    raise self._doubtful(key, part.damage)
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
        entry = self._stored(shard)
        if entry is not None:
            files.append((file_of(shard), entry if isinstance(entry, StorageError) else entry.data))
        for name, data in files:
            part = open_part(site, name, shard, data)
            if part.damage is not None:
                self.damages[name] = part.damage
            yield part
        if entry is None and whole:
            yield Part(Block(site.schema.fields, b"", 0, 0, 0), None)

    def _stored(self, shard: str) -> Entry | StorageError | None:
        """The shard's file. Where there is none the manifest is asked: dibs never deletes one, so if there should be
        one and a look after that finds none either, somebody else took it away."""
        site, path = self._site, file_of(shard)
        found = site.read(path)
        if found is not None:
            return found
        try:
            lines = lines_told(site, shard)
        except StorageError as error:
            site.blame(error)
            return error
        if not lines:
            return None
        remedy = f"restore it, or accept the loss with: dibs index repair {site.url}"
        return site.read(path) or StorageError(f"{path} is gone or empty, though it had {lines:,} records; {remedy}")

    def _doubtful(self, key: str, damage: Damage) -> StorageError:
        remedy = f"restore it, or accept the loss with: dibs index repair {self._site.url}"
        return StorageError(f"{damage.path} is damaged and may have had {key!r}: {damage.left}; {remedy}")

    def check(self, shard: str) -> None:
        """Note in `damages` if the shard's file is gone."""
        found = self._stored(shard)
        if isinstance(found, StorageError):
            self._note(file_of(shard), found)

    def listed(self, shard: str) -> list[str]:
        """The files in its inbox. When these cannot be listed there are none, and that is noted in `damages`."""
        try:
            return self._inbox.listed(shard)
        except StorageError as error:
            self._site.blame(error)
            self._note(inbox_of(shard), error)
            return []

    def _note(self, path: str, error: StorageError) -> None:
        self.damages[path] = Damage(path, why=str(error))


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
