"""The frontmatter of a spec file: its fields as values, and its body.

Ordinary files are read by regular expressions (`quick`), the others by a YAML parser (`yamlish`) that is an
extra and imported only then. Both give the same: text, numbers, true, false, null, lists and maps of those; times
and dates are text. Nothing here writes a file.
"""

from typing import Any

from dibs.specs import fences, quick
from dibs.specs.badspec import BadSpec
from dibs.specs.lines import text_of

__all__ = ["BadSpec", "body", "edit", "read"]

_ORDINARY = bytes([10, *range(32, 127)])


def read(data: bytes) -> dict[str, Any]:
    """The fields; {} when there is no frontmatter. BadSpec when it cannot be read, MissingExtra without PyYAML."""
    found = fences.find(data)
    if found is None:
        return {}
    lines = data[found[0] : found[1]]
    text = text_of(lines) if lines.translate(None, _ORDINARY) else lines.decode("ascii")
    fields = quick.fields(text)
    if fields is not None:
        return fields
    from dibs.specs import yamlish

    return {field.key: field.value for field in yamlish.places(text)}


def body(data: bytes) -> bytes:
    """What follows the frontmatter; all of it (but a byte order mark) when there is none."""
    found = fences.find(data)
    return data.removeprefix(fences.BOM) if found is None else data[found[2] :]


def edit(data: bytes, changes: dict[str, Any | None]) -> bytes:
    """`data` with these fields set, or removed (None), and every other byte as it was: see `editing.edit`."""
    from dibs.specs import editing

    return editing.edit(data, changes)
