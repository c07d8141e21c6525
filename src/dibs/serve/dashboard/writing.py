"""Payloads as text for people: cut where they are long, and secrets hidden by their key."""

import json
from collections.abc import Iterator
from typing import Any

from dibs.serve.masking import HIDDEN, Hide


def written(value: Any, limit: int, hide: Hide, *, indent: bool = False) -> tuple[str, bool]:
    """(JSON, whether it was cut). Costs what is written, not what there is."""
    parts: list[str] = []
    size = 0
    for part in _parts(value, limit, hide, "\n" if indent else ""):
        parts.append(part)
        size += len(part)
        if size > limit:
            return "".join(parts)[:limit], True
    return "".join(parts), False


def _parts(value: Any, limit: int, hide: Hide, line: str) -> Iterator[str]:
    """`line` begins a new line with the indent of this depth; empty: everything on one line."""
    if not isinstance(value, dict | list | tuple) or not value:
        yield _plain(value, limit)
        return
    below = line + "  " if line else ""
    named = isinstance(value, dict)
    yield "{" if named else "["
    between = ""
    for item in value.items() if isinstance(value, dict) else value:
        yield between + below
        between = "," if below else ", "
        if not named:
            yield from _parts(item, limit, hide, below)
            continue
        key, held = item
        yield f"{_plain(key, limit)}: "
        yield from [f'"{HIDDEN}"'] if hide(str(key)) else _parts(held, limit, hide, below)
    yield line + ("}" if named else "]")


def _plain(value: Any, limit: int) -> str:
    try:
        return json.dumps(value[: limit + 1] if isinstance(value, str) else value, ensure_ascii=False, default=str)
    except ValueError:  # a number of thousands of digits
        return "…"
