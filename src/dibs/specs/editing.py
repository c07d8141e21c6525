"""Changing fields of a spec file's frontmatter and no other byte of it.

A field that is set keeps its place, its key as written and the comment behind it; a new one comes last. The result
is read back before it is handed out: a change that would come out otherwise is refused, never written.
"""

from typing import Any

from dibs.specs.badspec import BadSpec
from dibs.specs.layout import Layout


def edit(data: bytes, changes: dict[str, Any | None]) -> bytes:
    """`data` with these fields set, or removed (None).

    A field that has the value already keeps its bytes. BadSpec when the frontmatter cannot be read or the field's
    form cannot be changed safely, BadInput for a value that cannot be written.
    """
    layout = Layout(data)
    wanted = layout.values
    lines: dict[str, list[bytes]] = {}
    for key, value in changes.items():
        if value is None:
            if key in wanted:
                del wanted[key]
                lines[key] = []
        elif key not in wanted or repr(wanted[key]) != repr(value):
            wanted[key] = value
            lines[key] = layout.with_value(key, value)
    if not lines:
        return data
    result = layout.put(lines) + layout.body
    check(result, wanted, changes)
    return result


def check(result: bytes, wanted: dict[str, Any], changed: Any) -> None:
    """BadSpec unless `result` reads as exactly these fields in this order; 1, 1.0 and true are three values."""
    try:
        got = Layout(result).values
    except BadSpec as error:
        raise _unsafe(changed) from error
    if repr(got) != repr(wanted):
        raise _unsafe(changed)


def _unsafe(changed: Any) -> BadSpec:
    return BadSpec(
        f"the frontmatter has a form in which {', '.join(changed)} cannot be changed safely; edit it by hand"
    )
