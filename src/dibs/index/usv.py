"""The one dialect of USV that an index writes: records of text, as bytes.

    unit   U+001F between two fields of a record
    end    U+001E and a newline, for eyes, after each record

What would be taken for structure, or would steer a terminal, is escaped by a backslash, so any text comes back as it
was. A field that is missing is `\\N` and nothing else; an empty one is empty. A record is a *line* here: its bytes
without the end. The first field of a line is its key, the second its time; `\\D` before the time marks a deletion.
"""

import re
from collections.abc import Sequence

from dibs.errors import BadInput

UNIT = b"\x1f"
END = b"\x1e\n"
MISSING = b"\\N"
DELETED = b"\\D"
ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\x1f": "\\u", "\x1e": "\\x", "\x1b": "\\e", "\0": "\\0"}
_TABLE = str.maketrans(ESCAPES)
_PLAIN = {escaped: char for char, escaped in ESCAPES.items()}
_SPECIAL = re.compile("[\\\\\n\r\x1f\x1e\x1b\0]")
_BESIDES_UNITS = re.compile("[\\\\\n\r\x1e\x1b\0]")
_ESCAPED = re.compile(r"\\.?", re.DOTALL)

Value = str | None


class BadRecord(ValueError):
    """These bytes are no record of this dialect."""


def escape(text: str) -> str:
    return text.translate(_TABLE) if _SPECIAL.search(text) else text


def unescape(text: str) -> str:
    return _ESCAPED.sub(_meant, text) if "\\" in text else text


def _meant(match: re.Match[str]) -> str:
    try:
        return _PLAIN[match[0]]
    except KeyError:
        raise BadRecord(f"the escape {match[0]!r} is not known") from None


def line_of(values: Sequence[Value]) -> bytes:
    """The line of these fields. BadInput when one is not valid Unicode."""
    try:
        try:
            joined = "\x1f".join(values)  # type: ignore[arg-type]
        except TypeError:  # one is missing
            return "\x1f".join(["\\N" if value is None else escape(value) for value in values]).encode()
        if joined.count("\x1f") == len(values) - 1 and not _BESIDES_UNITS.search(joined):
            return joined.encode()
        return "\x1f".join([escape(value) for value in values if value is not None]).encode()
    except UnicodeEncodeError as error:
        raise BadInput(
            f"text that is not valid Unicode cannot be stored: {error.object[error.start :][:20]!r}"
        ) from None


def values_of(line: bytes) -> list[Value]:
    """The fields of a line; the time of a deletion without its mark. BadRecord when it is none."""
    try:
        parts = line.decode().split("\x1f")
    except UnicodeDecodeError:
        raise BadRecord("it is not UTF-8") from None
    if b"\\" not in line:
        return [*parts]
    if len(parts) > 1 and parts[1].startswith("\\D"):
        parts[1] = parts[1][2:]
    return [None if part == "\\N" else unescape(part) for part in parts]


def key_of(line: bytes) -> bytes:
    """The key as it is written: lines are sorted by it."""
    return line[: line.find(b"\x1f")]


def is_deletion(line: bytes) -> bool:
    return line.startswith(b"\\D", line.find(b"\x1f") + 1)


def widened(line: bytes, width: int) -> bytes:
    """The line with `width` fields: those that it does not have are missing."""
    lacking = width - 1 - line.count(b"\x1f")
    return line + b"\x1f\\N" * lacking if lacking > 0 else line


def narrowed(line: bytes) -> bytes:
    """Without the missing fields at its end: the same whether or not fields were added to the schema since."""
    while line.endswith(b"\x1f\\N"):
        line = line[:-3]
    return line
