"""Reading what was not written by this code, or not in full: older dialects of USV, and damaged files.

Older dialects know no escape. A record ends with U+001E, with U+001E and a newline, or with a newline alone, and the
first may be a header. Of a damaged file every record that is certainly whole is good: it has its end, no more fields
than the file, is valid text, has a time, and its key belongs to the shard. A file that has lost its head is still one
of this dialect, whose escapes count.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from dibs.errors import BadInput
from dibs.index.block import MARK, stream_fields
from dibs.index.fieldwise import TIMES, times_in
from dibs.index.times import instant
from dibs.index.usv import END, MISSING, UNIT, BadRecord, Value, escape, key_of, line_of, unescape, values_of

_HEAD = (rb"#usv", rb"\d+", rb"\d+", rb"\d+", rb"[0-9a-f]{8}", rb"[0-9a-f]{16,24}")
_ENOUGH = len(_HEAD) - 1
_NEVER = re.compile(rb"[\0\n\r\x1b\x1e]")  # always escaped


class Salvage(NamedTuple):
    fields: tuple[str, ...]
    lines: list[bytes]  # good, in the order of the file
    bad: int
    foreign: bool  # another dialect, or a stream, and nothing wrong with it


def salvage(data: bytes, fields: tuple[str, ...], belongs: Callable[[str], bool], *, ours: bool = False) -> Salvage:
    """`fields` are those of the schema, for files that do not say theirs. `ours`: by its name it is one that only dibs
    writes, so that it is in this dialect unless it is in another without a fault."""
    if not _has_head(data):
        found = _foreign(data, fields, belongs)
        if found.foreign or not ours:
            return found
    return _own(data, fields, belongs)


def _has_head(data: bytes) -> bool:
    """Its first record is a head, or was one: zero bytes are what a lost block of a disk is full of."""
    if data.startswith((MARK, b"\0")):
        return True
    return _is_head(data.partition(END)[0])


def _is_head(piece: bytes) -> bool:
    units = piece.split(UNIT)
    return sum(re.fullmatch(*pair) is not None for pair in zip(_HEAD, units, strict=False)) >= _ENOUGH


def _own(data: bytes, fields: tuple[str, ...], belongs: Callable[[str], bool]) -> Salvage:
    *pieces, last = data.split(END)  # after the last end: nothing, or a record that was cut short
    head = pieces.pop(0) if pieces and _has_head(data) else b""
    stream = stream_fields(head)
    own = stream or _fields_in(head)
    names = own if own and own == fields[: len(own)] else fields
    swallowed = bool(head) and not stream and not _is_head(head) and not _ends_as_head(head, fields)
    lines, bad = [], int(swallowed)
    found = [*_halves(head)[1:], *(half for piece in pieces for half in _halves(piece))]
    if last:
        found.append(last.partition(b"\x1e")[0] if b"\x1e" in last else b"")
    for piece in found:
        line = _in_order(piece, stream, fields) if stream and names != stream else piece
        if line is not None and is_good(line, names, belongs):
            lines.append(line)
        else:
            bad += 1
    return Salvage(names, lines, bad, bool(stream) and not bad)


def _ends_as_head(piece: bytes, fields: Sequence[str]) -> bool:
    """It ends with names of fields, so no record was lost with the head."""
    names = [escape(name).encode() for name in fields]
    return any(piece.endswith(UNIT.join([b"", *names[:count]])) for count in range(2, len(names) + 1))


def _halves(piece: bytes) -> list[bytes]:
    """The record, or the two with a damaged end between them, of which only one is certain: U+001E comes after a whole
    one, a newline before one."""
    left, mark, _ = piece.partition(b"\x1e")
    if mark:
        return [left, b""]
    _, mark, right = piece.rpartition(b"\n")
    return [b"", right] if mark else [piece]


def _in_order(line: bytes, given: Sequence[str], fields: Sequence[str]) -> bytes | None:
    """The line with its fields where the schema has them; None when it has others."""
    units = line.split(UNIT)
    if len(units) > len(given) or not set(given) <= set(fields):
        return None
    by_name = dict(zip(given, units, strict=False))
    return UNIT.join([by_name.get(name, MISSING) for name in fields])


def is_good(line: bytes, fields: Sequence[str], belongs: Callable[[str], bool]) -> bool:
    if not 1 <= line.count(UNIT) <= len(fields) - 1 or _NEVER.search(line):
        return False
    try:
        values = values_of(line)
        instant(values[1] or "")
        if TIMES in fields[2:3]:
            times_in(values[2] if len(values) > 2 else None)
        return belongs(values[0] or "") and key_of(line) == line_of(values[:1])
    except (BadRecord, BadInput):
        return False


def _fields_in(head: bytes) -> tuple[str, ...]:
    try:
        return tuple(unescape(unit) for unit in head.decode().split("\x1f")[6:])
    except (UnicodeDecodeError, BadRecord):
        return ()


def _foreign(data: bytes, fields: tuple[str, ...], belongs: Callable[[str], bool]) -> Salvage:
    lines, bad = [], 0
    rows = rows_of(data)
    order = [fields.index(str(name)) for name in rows.pop(0)] if rows and is_header(rows[0], fields) else None
    for row in rows:
        try:
            if order is not None:
                row = _placed(row, order, len(fields))
            if not 2 <= len(row) <= len(fields) or not belongs(row[0] or ""):
                raise BadRecord
            instant(row[1] or "")
            lines.append(line_of(row))
        except (BadRecord, BadInput):
            bad += 1
    return Salvage(fields, lines, bad, not bad and bool(lines))


def _placed(row: list[Value], order: list[int], width: int) -> list[Value]:
    """In the order of the schema. What follows the last field that the header names is missing."""
    if len(row) != len(order):
        raise BadRecord
    placed: list[Value] = [None] * width
    for place, value in zip(order, row, strict=True):
        placed[place] = value
    return placed


def rows_of(data: bytes) -> list[list[Value]]:
    """The records of a file in an older dialect; a record that is not UTF-8 comes as one field, None."""
    if b"\x1e" in data:
        records = [piece.removeprefix(b"\r").removeprefix(b"\n") for piece in data.split(b"\x1e")]
    else:
        records = [piece.removesuffix(b"\r") for piece in data.split(b"\n")]
    return [_row(record) for record in records if record.strip(b"\r\n")]


def _row(record: bytes) -> list[Value]:
    try:
        return [*record.decode().split("\x1f")]
    except UnicodeDecodeError:
        return [None]


def is_header(row: Sequence[Value], fields: Iterable[str]) -> bool:
    """It consists of names of fields."""
    known = set(fields)
    return len(row) > 1 and all(value in known for value in row)
