"""Reading what was not written by this code, or not in full: older dialects of USV, and damaged files.

Older dialects know no escape. A record ends with U+001E, with U+001E and a newline, or with a newline alone, and the
first may be a header. Of a damaged file every record that is certainly whole is good: it has its end, no more fields
than the file, is valid text, has a time, and its key belongs to the shard.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from dibs.errors import BadInput
from dibs.index.block import MARK
from dibs.index.times import instant
from dibs.index.usv import END, UNIT, BadRecord, Value, key_of, line_of, unescape, values_of


class Salvage(NamedTuple):
    fields: tuple[str, ...]
    lines: list[bytes]  # good, in the order of the file
    bad: int
    foreign: bool  # another dialect, and nothing wrong with it


def salvage(data: bytes, fields: tuple[str, ...], belongs: Callable[[str], bool]) -> Salvage:
    """`fields` are those of the schema, for files that do not say theirs."""
    if not data.startswith(MARK):
        return _foreign(data, fields, belongs)
    head, *pieces = data.split(END)
    own = _fields_in(head)
    names = own if own and own == fields[: len(own)] else fields
    last = pieces.pop() if pieces else b""  # after the last end: nothing, or a record that was cut short
    lines = [piece for piece in pieces if is_good(piece, len(names), belongs)]
    return Salvage(names, lines, len(pieces) - len(lines) + bool(last), False)


def is_good(line: bytes, width: int, belongs: Callable[[str], bool]) -> bool:
    if not 1 <= line.count(UNIT) <= width - 1:
        return False
    try:
        values = values_of(line)
        instant(values[1] or "")
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
