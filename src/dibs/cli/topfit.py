"""Tables of `top` that fit the screen: columns that matter least are left out, names are cut last, numbers never."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

_BETWEEN = 2  # rich pads a column on both sides
_SHORTEST_NAME = 12


def fitting(
    heads: Sequence[str], rows: Sequence[Sequence[Text]], width: int, *, least: Sequence[str], left: Sequence[str]
) -> Table:
    """The first column has names. `least`: the heads that give way, in that order; `left`: those on the left edge."""
    widths = {
        head: max(len(head), *(row[at].cell_len for row in rows)) if rows else len(head)
        for at, head in enumerate(heads)
    }
    for head in least:
        if sum(widths.values()) + _BETWEEN * (len(widths) - 1) <= width:
            break
        del widths[head]
    others = sum(widths[head] + _BETWEEN for head in heads[1:] if head in widths)
    room = max(width - others, _SHORTEST_NAME)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in widths:
        table.add_column(head, no_wrap=True, justify="left" if head in left else "right")
    for row in rows:
        row[0].truncate(room, overflow="ellipsis")
        table.add_row(*(cell for head, cell in zip(heads, row, strict=True) if head in widths))
    return table
