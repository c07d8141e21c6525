"""Lines as a Polars frame and back, at the speed of its CSV reader and writer.

The reader is given the lines as CSV whose separator is U+001F and whose records end in a newline; the U+001E before it
is taken off the last column. Where no text is escaped, which counting backslashes tells, that is all; else the columns
are unescaped afterwards, all escapes at once. Writing is the other way round.
"""

import inspect
import io
from collections.abc import Sequence
from functools import cache
from typing import Any

from dibs.errors import MissingExtra
from dibs.index.usv import DELETED, ESCAPES, UNIT

MARK = "\x1e"
MANY_BYTES = 64 << 20
_SPECIAL = "".join(ESCAPES).encode()
_BOM = "\ufeff".encode()


def polars() -> Any:
    try:
        import polars
    except ImportError:
        raise MissingExtra(
            "reading an index as a table needs Polars; install it with: pip install 'dibs[index]'"
        ) from None
    return polars


@cache
def _empty_is_text() -> dict[str, bool]:
    """An empty field is empty, not missing: how this version of Polars is told."""
    known = inspect.signature(polars().read_csv).parameters
    return (
        {"empty_string_is_null": False} if "empty_string_is_null" in known else {"missing_utf8_is_empty_string": True}
    )


def frame_of(bodies: Sequence[bytes], fields: Sequence[str]) -> Any:
    """The records of these lines, each with its end, without deletions; every column text, missing ones null."""
    pl = polars()
    schema = dict.fromkeys(fields, pl.String)
    frames = [_frame(pl, body, schema) for body in bodies if body]
    if len(frames) == 1:
        return frames[0]
    return pl.concat(frames) if frames else pl.DataFrame(schema=schema)


def _frame(pl: Any, body: bytes, schema: dict[str, Any]) -> Any:
    if body.startswith(_BOM):  # which the reader would take off the first key
        before = UNIT * (len(schema) - 1) + MARK.encode() + b"\n"
        return _read(pl, before + body, schema).slice(1)
    return _read(pl, body, schema)


def _read(pl: Any, body: bytes, schema: dict[str, Any]) -> Any:
    escapes = body.count(b"\\")
    found = pl.read_csv(
        body,
        separator="\x1f",
        has_header=False,
        quote_char=None,
        schema=schema,
        null_values=["\\N", "\\N" + MARK] if escapes else None,
        **_empty_is_text(),
    )
    *_, last = schema
    found = found.with_columns(pl.col(last).str.head(-1))
    if escapes == found.null_count().sum_horizontal()[0]:  # every backslash stands in a field that is missing
        return found
    if UNIT + DELETED in body:
        found = found.filter(~pl.col(list(schema)[1]).str.starts_with(DELETED.decode()))
    return found.with_columns(unescaped(pl, pl.all()))


def unescaped(pl: Any, columns: Any) -> Any:
    return columns.str.replace_many(list(ESCAPES.values()), list(ESCAPES))


def body_of(frame: Any) -> bytes:
    """The lines of a frame of text, each with its end."""
    pl = polars()
    body = _written(frame)
    rows, columns = frame.shape
    structure = rows * (columns + 1) + frame.null_count().sum_horizontal()[0]
    if len(body) - len(body.translate(None, _SPECIAL)) == structure:
        return body  # so there is nothing in the texts that needs an escape
    return _written(frame.with_columns(pl.all().str.replace_many(list(ESCAPES), list(ESCAPES.values()))))


def _written(frame: Any) -> bytes:
    out = io.BytesIO()
    frame.write_csv(
        out, include_header=False, separator="\x1f", line_terminator="\x1e\n", quote_style="never", null_value="\\N"
    )
    return out.getvalue()
