"""Data to stdout, talk to stderr; nothing that could steer a terminal."""

from __future__ import annotations

import sys

from dibs.cli.exits import CommandError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def emit(value: Any) -> None:
    """One JSON value on one line of stdout: UTF-8, or plain ASCII where the stream is not UTF-8."""
    import json

    out = sys.stdout
    if out is None:
        raise CommandError("standard output is closed; the result cannot be written")
    ascii_only = out.encoding.lower() not in ("utf-8", "utf8")
    out.write(json.dumps(value, ensure_ascii=ascii_only, separators=(",", ":")) + "\n")


def say(text: str) -> None:
    """A word to a person at a terminal; silence in a script."""
    if sys.stderr is not None and sys.stderr.isatty():
        print(clean(text), file=sys.stderr)


def warn(text: str) -> None:
    """A line on stderr, at a terminal or not."""
    print(clean(text), file=sys.stderr)


def clean(text: str) -> str:
    """`text` with every character that does not print (control codes, line breaks, direction marks) escaped."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def pause_words(paused: str | None, before: str = "") -> str:
    """`paused: why`, or nothing when the queue is not."""
    if paused is None:
        return ""
    return before + "paused" + (f": {clean(paused)}" if paused else "")
