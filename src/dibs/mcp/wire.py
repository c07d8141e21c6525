"""What goes over the wire: values that every JSON reader takes, and errors in one line without secrets."""

import json
import math
from typing import Any

from dibs.errors import DibsError
from dibs.redact import redact

MAX_DEPTH = 100  # readers of JSON stop at about 200 levels, and the answer adds some


def safe(value: Any, depth: int = 0) -> Any:
    """`value` as plain JSON. What is not JSON (a queue's files may be written by anybody) or nested too deep
    becomes text: one strange task must not end the session."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict | list | tuple):
        if depth >= MAX_DEPTH:
            return _text(value)
        if isinstance(value, dict):
            return {safe(str(name)): safe(item, depth + 1) for name, item in value.items()}
        return [safe(item, depth + 1) for item in value]
    return value


def _text(value: Any) -> str:
    try:
        return str(safe(json.dumps(value, ensure_ascii=False)))
    except RecursionError:
        return "…"


def error_line(error: BaseException) -> str:
    if isinstance(error, DibsError):
        message = str(error)
    elif isinstance(error, OSError):
        place = f": {error.filename}" if error.filename else ""
        message = f"{error.strerror or type(error).__name__}{place}"
    else:
        message = f"internal error: {type(error).__name__}: {error}"
    message = " ".join(redact(message).split())
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in message)
