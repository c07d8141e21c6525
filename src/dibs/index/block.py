"""One stored file: a first record, its head, that says what follows, then lines sorted by key, no key twice.

    #usv  format  lines  deletions  crc32  nonce+check  field  field  …

`crc32` is of all bytes after the head, `check` of the head itself. Where both fit, the lines are as this code wrote
them, and nobody has to look at them one by one; where they do not, or there is no head, see `salvage`. A head with
nothing between format and fields begins a stream: lines in this dialect, whoever wrote them, in any order.
"""

import re
from collections.abc import Iterable
from io import BytesIO
from itertools import pairwise
from typing import NamedTuple
from zlib import crc32

from dibs.errors import FormatError
from dibs.index.usv import END, UNIT, BadRecord, escape, is_deletion, key_of, unescape

MARK = b"#usv"
FORMAT = 1
_HEAD = 6  # units before the fields
_NO_CHECK = "0" * 8
_UNCHECKED = re.compile("[0-9a-f]{16}")  # a nonce from before heads had a check
_STREAM = MARK + UNIT + str(FORMAT).encode() + UNIT * 4 + UNIT


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
    before = f"{MARK.decode()}\x1f{FORMAT}\x1f{lines}\x1f{deletions}\x1f"
    after = "\x1f".join(["", *map(escape, fields)]).encode()
    blank = f"{before}{_NO_CHECK}\x1f{nonce}{_NO_CHECK}".encode() + after + END
    file = BytesIO(b"".join([blank, *pieces]))  # written to where it is: there is never a second copy in memory
    with file.getbuffer() as view, view[len(blank) :] as body:
        start = f"{before}{crc32(body):08x}\x1f{nonce}".encode()
    file.write(start + b"%08x" % crc32(after, crc32(start)))
    return file.getvalue()


def stream_head(fields: Iterable[str]) -> bytes:
    """The head of lines whose number is not known yet."""
    return _STREAM + "\x1f".join(map(escape, fields)).encode()


def stream_fields(head: bytes) -> tuple[str, ...]:
    """The fields that such a head names; none when it is another."""
    try:
        return tuple(map(unescape, head.decode().split("\x1f")[_HEAD:])) if head.startswith(_STREAM) else ()
    except (UnicodeDecodeError, BadRecord):
        return ()


def unpack(data: bytes, where: str) -> Block | None:
    """None when it is damaged, or not of this dialect. FormatError when a later version of dibs wrote it."""
    if not data.startswith(MARK + UNIT):
        return None
    start = data.find(END) + 2
    if start < 2:
        return None
    head = data[: start - 2]
    try:
        units = head.decode().split("\x1f")
        form, lines, deletions, check = int(units[1]), int(units[2]), int(units[3]), int(units[4], 16)
        fields = tuple(map(unescape, units[_HEAD:]))
    except (ValueError, IndexError, BadRecord):
        return None
    if len(fields) < 2 or not _is_whole(head, units):
        return None
    if form > FORMAT:
        raise FormatError(f"{where} has format {form}, this dibs knows up to {FORMAT}; upgrade dibs")
    if crc32(memoryview(data)[start:]) != check:
        return None
    block = Block(fields, data, start, lines, deletions)
    return block if not _UNCHECKED.fullmatch(units[5]) or _counts(block) == (lines, deletions) else None


def promised(data: bytes) -> int:
    """How many lines there should be, by a head that is whole; 0 where there is none."""
    head = data.partition(END)[0]
    try:
        units = head.decode().split("\x1f")
        lines = int(units[2])
    except (ValueError, IndexError):
        return 0
    return lines if head.startswith(MARK + UNIT) and len(units) > _HEAD and _is_whole(head, units) else 0


def _is_whole(head: bytes, units: list[str]) -> bool:
    """Its check fits; or it has none, and is of the only format that was written so."""
    end = len("\x1f".join(units[:_HEAD]).encode())
    if head[end - 8 : end] == b"%08x" % crc32(head[end:], crc32(head[: end - 8])):
        return True
    return bool(_UNCHECKED.fullmatch(units[5])) and units[1] == "1"


def _counts(block: Block) -> tuple[int, int]:
    lines = block.all()
    return len(lines), sum(map(is_deletion, lines))


def sorted_lines(latest: dict[bytes, bytes]) -> list[bytes]:
    return [latest[key] for key in sorted(latest)]


def is_sorted(lines: list[bytes]) -> bool:
    keys = [key_of(line) for line in lines]
    return all(one < other for one, other in pairwise(keys))
