"""One stored file, opened: its lines as lines of the schema, and what is wrong with it."""

from collections.abc import Iterable
from hashlib import sha256
from typing import NamedTuple

from dibs.errors import FormatError
from dibs.index.block import Block, pack, sorted_lines, unpack
from dibs.index.layout import aside_of
from dibs.index.merge import latest
from dibs.index.salvage import salvage
from dibs.index.site import Site
from dibs.index.usv import widened
from dibs.stores import settle
from dibs.stores.store import Exists


class Damage(NamedTuple):
    """A file that could not be read in full."""

    path: str
    kept: int  # records that were good
    bad: int
    aside: str = ""  # where the file is kept as it was


class Part(NamedTuple):
    block: Block
    damage: Damage | None


def open_part(site: Site, path: str, shard: str, data: bytes) -> Part:
    """Its good lines, sorted and each key once. FormatError when its fields are not those of the schema."""
    block = unpack(data, path)
    if block is not None:
        if not site.schema.fits(block.fields) and not site.look_again().fits(block.fields):
            here, there = ", ".join(site.schema.fields), ", ".join(block.fields)
            raise FormatError(
                f"{path} has the fields {there}, the schema {here}; restore schema.json, or remove the file"
            )
        return Part(block, None)
    fields = site.schema.fields
    found = salvage(data, fields, lambda key: site.belongs(shard, key))
    width = len(found.fields)
    lines = sorted_lines(latest([widened(line, width) for line in found.lines], site.rule, {}))
    good = unpack(pack(found.fields, lines, ""), path)
    assert good is not None
    return Part(good, None if found.foreign else Damage(path, len(lines), found.bad))


def updates(site: Site, parts: Iterable[Part]) -> dict[bytes, bytes]:
    """The latest line of every key in them, with all fields of the schema."""
    found: dict[bytes, bytes] = {}
    for part in parts:
        block, width = part.block, len(site.schema.fields)
        lines = block.all()
        if len(block.fields) < width:
            lines = [widened(line, width) for line in lines]
        latest(lines, site.rule, found)
    return found


def set_aside(site: Site, damage: Damage, data: bytes) -> Damage:
    """Keep the file as it is, once, before anything takes its place."""
    if not data:
        return damage
    aside = aside_of(damage.path, sha256(data).hexdigest()[:12])
    try:
        settle.create(site.store, aside, data)
    except Exists:
        pass  # the same content, kept before
    return damage._replace(aside=aside)
