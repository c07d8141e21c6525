"""Where a file's frontmatter begins and ends.

It begins with a first line `---` (a byte order mark may stand before it, blanks after it) and ends with the next
line that is `---` or `...` from its first column on; an indented one is text. A file whose first line is something
else has no frontmatter; one that is opened and not closed is a BadSpec, because nobody can say what is body.
"""

import re

from dibs.specs.badspec import BadSpec

BOM = b"\xef\xbb\xbf"
LIMIT = 1 << 20  # bytes of frontmatter

_OPEN = re.compile(rb"(?:\xef\xbb\xbf)?---[ \t]*+\r?(?:\n|\Z)")
_CLOSE = re.compile(rb"\n(?:---|\.\.\.)[ \t]*+\r?(?:\n|\Z)")


Fences = tuple[int, int, int]
"""Offsets start, stop, body: the frontmatter's lines are data[start:stop], the body is data[body:]."""


def find(data: bytes) -> Fences | None:
    """The fences of `data`; None when it has no frontmatter. BadSpec when it is not closed, or too large."""
    if data.startswith(b"---\n"):
        stop = data.find(b"\n---", 3, LIMIT)
        if stop >= 0 and data.startswith(b"\n", stop + 4) and data.find(b"\n...", 3, stop) < 0:
            return 4, stop + 1, stop + 5
    opening = _OPEN.match(data)
    if opening is None:
        return None
    start = opening.end()
    closing = _CLOSE.search(data, start - 1, LIMIT + start)
    if closing is not None:
        return start, closing.start() + 1, closing.end()
    if len(data) - start > LIMIT:
        raise BadSpec(f"the frontmatter is not closed within {LIMIT:,} bytes; end it with a line ---", 1)
    raise BadSpec("the frontmatter is not closed; end it with a line ---", 1)
