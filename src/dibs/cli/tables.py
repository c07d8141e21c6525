"""Plain aligned columns for people. Every cell is cleaned; the last column is cut or wrapped at the terminal's edge."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from dibs.cli.output import clean

_PIPE_WIDTH = 160
_MARK = "…"


def table(headers: Sequence[str], rows: Sequence[Sequence[Any]], *, right: Sequence[int] = ()) -> list[str]:
    """Lines of a table; columns numbered in `right` are aligned to the right. Empty cells show as -."""
    cells = [list(headers), *([text_of(cell) for cell in row] for row in rows)]
    widths = [max(width_of(row[column]) for row in cells) for column in range(len(headers))]
    lines = []
    screen = screen_width()
    for row in cells:
        padded = [
            _padded(cell, widths[column], right=column in right) if column + 1 < len(row) or column in right else cell
            for column, cell in enumerate(row)
        ]
        lines.append(cut("  ".join(padded).rstrip(), screen))
    return lines


def wrapped(headers: Sequence[str], rows: Sequence[Sequence[Any]], *, least: int) -> list[str]:
    """Lines of a table whose last column is whole: it goes on below itself. Where fewer than `least` columns of the
    screen are left for it, the one before it is put behind what it says."""
    from textwrap import wrap

    cells = [[text_of(cell) for cell in row] for row in rows]
    screen = screen_width()
    if screen - _before_last([list(headers), *cells]) < least:
        headers = [*headers[:-2], headers[-1]]
        cells = [[*row[:-2], f"{row[-1]} · {row[-2]}"] for row in cells]
    indent = _before_last([list(headers), *cells])
    lines = table(headers, [[*row[:-1], ""] for row in cells])
    found = [lines[0]]
    for line, row in zip(lines[1:], cells, strict=True):
        first, *more = wrap(row[-1], max(screen - indent, least)) or ["-"]
        found += [line.removesuffix("-").ljust(indent) + first, *(" " * indent + one for one in more)]
    return found


def _before_last(cells: Sequence[Sequence[str]]) -> int:
    """Where the last column begins."""
    return sum(max(width_of(row[column]) for row in cells) + 2 for column in range(len(cells[0]) - 1))


def without_empty(headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> tuple[list[str], list[list[Any]]]:
    """The same table without the columns in which no row has anything."""
    used = [column for column in range(len(headers)) if any(row[column] not in (None, "", ()) for row in rows)]
    return [headers[column] for column in used], [[row[column] for column in used] for row in rows]


def pairs(rows: Sequence[tuple[str, Any]]) -> list[str]:
    """`name  value` lines; a row whose value is None or empty is left out."""
    shown = [(name, value) for name, value in rows if value not in (None, "", ())]
    width = max((len(name) for name, _ in shown), default=0)
    return [f"{name:<{width}}  {text_of(value)}" for name, value in shown]


def text_of(value: Any) -> str:
    if value is None or value == "" or value == ():
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list | tuple):
        return ", ".join(clean(str(item)) for item in value)
    return clean(str(value))


def screen_width() -> int:
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or _PIPE_WIDTH
    except (OSError, ValueError, AttributeError):
        return _PIPE_WIDTH


def width_of(text: str) -> int:
    """Columns on the screen: wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


def cut(text: str, width: int) -> str:
    """`text` in at most `width` columns."""
    if width_of(text) <= width:
        return text
    taken, room = [], width - 1
    for char in text:
        room -= width_of(char)
        if room < 0:
            break
        taken.append(char)
    return "".join(taken) + _MARK


def _padded(cell: str, width: int, *, right: bool) -> str:
    space = " " * (width - width_of(cell))
    return space + cell if right else cell + space
