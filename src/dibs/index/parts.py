"""One stored file, opened: its lines as lines of the schema, and what is wrong with it."""

from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from typing import NamedTuple

from dibs.errors import DibsError, FormatError, StorageError
from dibs.index.block import Block, pack, promised, sorted_lines, unpack
from dibs.index.layout import aside_of, file_of, is_ours
from dibs.index.manifest import lines_told
from dibs.index.merge import latest
from dibs.index.salvage import salvage
from dibs.index.site import Site
from dibs.index.usv import UNIT, widened
from dibs.stores import settle
from dibs.stores.store import Exists

Content = bytes | StorageError  # of a file, or why it cannot be read


class Damage(NamedTuple):
    """A file that could not be read in full, or, with `why`, not at all: that one stays where it is."""

    path: str
    kept: int = 0  # records that were good
    bad: int = 0  # pieces that are none; what was cut off is not among them
    had: int = 0  # records that it should have, where its head or the manifest says so
    aside: str = ""  # where the file is kept as it was
    why: str = ""

    @property
    def left(self) -> str:
        if self.had:
            return f"{self.kept:,} of {self.had:,} records can be read"
        return f"{self.kept:,} records can be read, {self.bad:,} cannot"

    @property
    def lost_some(self) -> bool:
        """For all that is known."""
        return not self.had or self.bad > 0 or self.kept < self.had


class Part(NamedTuple):
    block: Block
    damage: Damage | None
    error: DibsError | None = None  # nothing of it can be used as things are


def open_part(site: Site, path: str, shard: str, data: Content) -> Part:
    """Its good lines, sorted and each key once."""
    if isinstance(data, StorageError):
        return _unusable(site, path, data)
    try:
        block = unpack(data, path)
    except FormatError as error:
        return _unusable(site, path, error)
    if block is not None:
        if not site.schema.fits(block.fields) and not site.look_again().fits(block.fields):
            return _unusable(site, path, FormatError(misfit(site, path, block)))
        return Part(block, None)
    fields = site.schema.fields
    found = salvage(data, fields, lambda key: site.belongs(shard, key), ours=is_ours(path))
    width = len(found.fields)
    lines = sorted_lines(latest([widened(line, width) for line in found.lines], site.rule, {}))
    good = unpack(pack(found.fields, lines, ""), path)
    assert good is not None
    if found.foreign:
        return Part(good, None)
    had = promised(data)
    if not had and path == file_of(shard):
        with suppress(StorageError):
            had = lines_told(site, shard)
    return Part(good, Damage(path, len(lines), found.bad, had if had >= len(lines) else 0))


def misfit(site: Site, path: str, block: Block) -> str:
    here, there = ", ".join(site.schema.fields), ", ".join(block.fields)
    return f"{path} has the fields {there}, the schema {here}; restore schema.json, or remove the file"


def _unusable(site: Site, path: str, error: DibsError) -> Part:
    return Part(Block(site.schema.fields, b"", 0, 0, 0), Damage(path, why=str(error)), error)


def updates(site: Site, parts: Iterable[Part]) -> dict[bytes, bytes]:
    """The latest line of every key in them, with all fields of the schema."""
    found: dict[bytes, bytes] = {}
    for part in parts:
        block, width = part.block, len(site.schema.fields)
        lines = block.all()
        if len(block.fields) < width:
            lines = [widened(line, width) for line in lines]
        if not found:
            found = {line[: line.find(UNIT)]: line for line in lines}
            if len(found) == len(lines):
                continue
            found = {}  # a file of somebody else's, with a key twice
        latest(lines, site.rule, found)
    return found


def set_aside(site: Site, damage: Damage, data: Content) -> Damage:
    """Keep the file as it is, once, before anything takes its place; one that cannot be used stays where it is."""
    if not data or isinstance(data, StorageError) or damage.why:
        return damage
    aside = aside_of(damage.path, sha256(data).hexdigest()[:12])
    try:
        settle.create(site.store, aside, data)
    except Exists:
        pass  # the same content, kept before
    return damage._replace(aside=aside)
