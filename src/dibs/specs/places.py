"""A field of frontmatter and where it stands, for those who change it.

Lines count from 0 at the frontmatter's first line, columns in characters; both readers give the same places.
"""

from typing import Any, NamedTuple

FIRST_LINE = 2  # what the frontmatter's first line is in its file

Place = tuple[int, int]  # line, column


class Item(NamedTuple):
    """One item of a block list; its line holds nothing else."""

    value: Any
    line: int


class Field(NamedTuple):
    key: str
    value: Any
    line: int
    """The key's line; the field's last line is that of `stop`."""
    after_colon: int
    """The column after the key's `:`; -1 when the key's line has none."""
    start: Place
    stop: Place
    """Of the value's text, without comments and blank lines around it; equal when there is no text."""
    items: tuple[Item, ...] | None = None
    """Only for a block list with one line an item."""
    indent: str = ""
    """What stands before the `-` of such a list."""
