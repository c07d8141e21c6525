"""One stored file: a first record that says what follows, then lines sorted by key, no key twice.

    #usv  format  lines  deletions  crc32  nonce  field  field  …

The checksum is of all bytes after that record. Where it fits, the lines are as this code wrote them, and nobody has to
look at them one by one; where it does not, or there is no such record, see `salvage`.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple
from zlib import crc32

from dibs.errors import FormatError
from dibs.index.usv import END, UNIT, BadRecord, escape, is_deletion, key_of, unescape

MARK = b"#usv"
FORMAT = 1
_HEAD = 6  # units before the fields


class Block(NamedTuple):
    """`data` from `start` on are the lines."""

    fields: tuple[str, ...]
    data: bytes
    start: int
    lines: int
    deletions: int

    def all(self) -> list[bytes]:
        """The lines, in order."""
        return self.data[self.start : -2].split(END) if self.start < len(self.data) else []


def pack(fields: tuple[str, ...], lines: Iterable[bytes], nonce: str) -> bytes:
    """A file of these lines, which are sorted and have no key twice."""
    pieces: list[bytes] = []
    count = deletions = 0
    for line in lines:
        pieces += (line, END)
        count += 1
        deletions += is_deletion(line)
    return assemble(fields, [b"".join(pieces)], count, deletions, nonce)


def assemble(
    fields: tuple[str, ...], pieces: list[bytes | memoryview], lines: int, deletions: int, nonce: str
) -> bytes:
    """A file of lines that are there already, each piece with the end of its last line."""
    check = 0
    for piece in pieces:
        check = crc32(piece, check)
    units = [MARK.decode(), str(FORMAT), str(lines), str(deletions), f"{check:08x}", nonce, *map(escape, fields)]
    return b"".join(["\x1f".join(units).encode() + END, *pieces])


def unpack(data: bytes, where: str) -> Block | None:
    """None when it is damaged, or not of this dialect. FormatError when a later version of dibs wrote it."""
    if not data.startswith(MARK + UNIT):
        return None
    start = data.find(END) + 2
    if start < 2:
        return None
    try:
        units = data[: start - 2].decode().split("\x1f")
        form, lines, deletions, check = int(units[1]), int(units[2]), int(units[3]), int(units[4], 16)
        fields = tuple(map(unescape, units[_HEAD:]))
    except (ValueError, IndexError, BadRecord):
        return None
    if form > FORMAT:
        raise FormatError(f"{where} has format {form}, this dibs knows up to {FORMAT}; upgrade dibs")
    if crc32(memoryview(data)[start:]) != check or len(fields) < 2:
        return None
    return Block(fields, data, start, lines, deletions)


def sorted_lines(latest: dict[bytes, bytes]) -> list[bytes]:
    return [latest[key] for key in sorted(latest)]


def is_sorted(lines: list[bytes]) -> bool:
    keys = [key_of(line) for line in lines]
    return all(one < other for one, other in pairwise(keys))
