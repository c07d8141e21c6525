"""One file to import: which fields it has, and its records as rows of them."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from dibs.errors import BadInput
from dibs.index.block import MARK, stream_fields, unpack
from dibs.index.salvage import rows_of
from dibs.index.times import instant
from dibs.index.usv import END, BadRecord, Value, is_deletion, values_of


class Flat(NamedTuple):
    names: Sequence[str]
    rows: list[tuple[list[Value], bool]]  # and whether it is a deletion


def flat_file(path: str, data: bytes, fields: Sequence[str], known: Collection[str], key: str, time: str) -> Flat:
    """`fields`: of a file without a header. `known`: all names that a header may have, any when there are none.
    BadInput when it is no such file, or it cannot be told what its fields are."""
    if data.startswith(MARK):
        return _own(path, data)
    rows = rows_of(data)
    if rows and _is_header(rows[0], fields, known, key, time):
        fields = [str(name) for name in rows.pop(0)]
    if not fields:
        raise BadInput(
            f"it has no header with {key!r} or {time!r}, and nothing says what its fields are; give --fields"
        )
    for row in rows:
        if len(row) > len(fields) or row == [None]:
            raise BadInput(f"a record has {len(row)} fields, the file {len(fields)}, or is no text")
    return Flat(fields, [(row, False) for row in rows])


def _own(path: str, data: bytes) -> Flat:
    """In the dialect of an index: a file of one, or what `scan --format usv` wrote."""
    head, _, body = data.partition(END)
    names = stream_fields(head)
    block = None if names else unpack(data, path)
    if block is not None:
        names, lines = block.fields, block.all()
    elif names and (not body or body.endswith(END)):
        lines = body.split(END)[:-1]
    else:
        raise BadInput("it is damaged: its checksum does not fit, or its end is missing")
    try:
        rows = [(values_of(line), is_deletion(line)) for line in lines]
    except BadRecord as error:
        raise BadInput(f"it is damaged: {error}") from None
    if any(len(row) > len(names) for row, _ in rows):
        raise BadInput(f"it is damaged: a record has more than its {len(names)} fields")
    return Flat(names, rows)


def _is_header(row: Sequence[Value], fields: Sequence[str], known: Collection[str], key: str, time: str) -> bool:
    """It consists of names. BadInput when it is half one: neither a header nor a record that anybody meant."""
    given = set(row)
    if len(row) < 2 or _has_time(row, fields, time):
        return False
    if not known:
        header = key in given or time in given
    else:
        names = {key, time, *known}
        header = given <= names
        if not header and (key in given or len(given & names) * 2 > len(row)):
            strange = ", ".join(repr(name) for name in row if name not in names)
            raise BadInput(
                f"its first record is a header with {strange}, which is no field of the index; add it with: "
                "dibs index schema URL --add NAME, or name it in --fields of a new index"
            )
    if header and len(given) < len(row):
        raise BadInput(f"its header {', '.join(map(repr, row))} names a field twice; name it once")
    return header


def _has_time(row: Sequence[Value], fields: Sequence[str], time: str) -> bool:
    """Where the time would be there is one, so this is a record."""
    place = list(fields).index(time) if time in fields else len(row)
    try:
        return place < len(row) and bool(instant(row[place] or ""))
    except BadInput:
        return False
