"""How a setting may be written, and what it then means. BadInput says what to write."""

from __future__ import annotations

from dibs.errors import BadInput

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def duration(value: str | float) -> float:
    """Seconds from `30`, `30s`, `5m`, `2h`, `7d` or a number."""
    written = str(value).strip()
    unit = _UNITS.get(written[-1:].lower())
    try:
        seconds = float(written if unit is None else written[:-1]) * (unit or 1.0)
        if 0 <= seconds < float("inf") and not isinstance(value, bool):
            return seconds
    except ValueError:
        pass
    raise BadInput(f"duration {written!r} is not acceptable; write seconds, or 30s, 5m, 2h, 7d")


def duration_text(seconds: float) -> str:
    """As it would be written: 90s, 5m, 2h, 7d."""
    for unit in ("d", "h", "m"):
        if seconds and seconds % _UNITS[unit] == 0:
            return f"{seconds / _UNITS[unit]:g}{unit}"
    return f"{seconds:g}s"


def count(value: str | int) -> int:
    """A whole number from 1."""
    try:
        number = int(value)
        if number >= 1 and not isinstance(value, bool | float):
            return number
    except ValueError:
        pass
    raise BadInput(f"number {value!r} is not acceptable; write a whole number from 1")


def flag(value: str | bool) -> bool:
    """true or false."""
    written = str(value).strip().lower()
    if written not in ("true", "false"):
        raise BadInput(f"{value!r} is not acceptable; write true or false")
    return written == "true"


def switch(value: str) -> bool:
    """on or off."""
    if value not in ("on", "off"):
        raise BadInput(f"{value!r} is not acceptable; write on or off")
    return value == "on"


def number(value: str | float) -> float:
    """Any number from 0."""
    try:
        found = float(value)
        if 0 <= found < float("inf") and not isinstance(value, bool):
            return found
    except (TypeError, ValueError):
        pass
    raise BadInput(f"number {value!r} is not acceptable; write a number from 0")


def text(value: str) -> str:
    """Any text but an empty one."""
    if not isinstance(value, str) or not value:
        raise BadInput(f"{value!r} is not acceptable; write a text")
    return value


def texts(value: str | list[str]) -> tuple[str, ...]:
    """A list of texts; in the environment with commas between."""
    items = [item.strip() for item in value.split(",")] if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(item, str) and item for item in items):
        raise BadInput(f"{value!r} is not acceptable; write a list of texts")
    return tuple(items)
