"""Times of records, compared as time and not as text.

ISO 8601 (a zone or none, which is UTC on every machine; any number of digits after the point), or seconds since 1970.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from threading import Lock

from dibs.errors import BadInput

Instant = tuple[int, str]  # whole seconds since 1970, and the digits after the point
_T, _Z, _SPACE = b"TZ "
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NUMBER = re.compile(r"(\d{1,12})(?:\.(\d+))?", re.ASCII)
_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[Tt ]((?:[01]\d|2[0-3]):\d\d)(?::(\d\d)(?:[.,](\d+))?)?)?(?: ?([Zz]|[+-]\d\d(?::?\d\d)?))?",
    re.ASCII,
)


@lru_cache(1024)
def instant(text: str) -> Instant:
    """BadInput when it is no time."""
    if number := _NUMBER.fullmatch(text):
        return int(number[1]), (number[2] or "").rstrip("0")
    found = _ISO.fullmatch(text)
    if found is None:
        raise _bad(text)
    date, clock, seconds, digits, zone = found.groups()
    try:
        moment = datetime.fromisoformat(f"{date}T{clock or '00:00'}:{seconds or '00'}{_zone(zone)}")
        return (moment - _EPOCH) // timedelta(seconds=1), (digits or "").rstrip("0")
    except (ValueError, OverflowError):
        raise _bad(text) from None


def _zone(text: str | None) -> str:
    if text is None or text in "Zz":
        return "+00:00"
    return text if len(text) != 3 else f"{text}:00"


def _bad(text: str) -> BadInput:
    return BadInput(f"time {text[:60]!r} is not acceptable; write 2030-01-31T08:00:00Z, or seconds since 1970")


def compare(one: bytes, other: bytes) -> int:
    """Below 0 when `one` is earlier, above when it is later, else 0. BadInput when one is no time."""
    if one == other:
        return 0
    if (  # 2026-11-15T20:34:05Z, or both with as many digits after a point: these sort as text
        len(one) == len(other) > 19
        and one[10] == other[10] == _T
        and one[-1] == other[-1] == _Z
        and one[19] in b".Z"
        and other[19] in b".Z"
        and one[-2] != _SPACE != other[-2]  # "00.1 Z" is "00.10Z"
    ):
        return 1 if one > other else -1
    left, right = instant(one.decode(errors="replace")), instant(other.decode(errors="replace"))
    return (left > right) - (left < right)


def text_of(microseconds: int) -> str:
    """2026-11-15T20:34:05.123456Z"""
    moment = _EPOCH + timedelta(microseconds=microseconds)
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


class Stamps:
    """Times for records that have none: each later than the one before, whatever the clock does. Safe for threads."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._last = 0
        self._lock = Lock()

    def many(self, count: int) -> list[str]:
        with self._lock:
            first = max(round(self._now() * 1e6), self._last + 1)
            self._last = first + count - 1
        return [text_of(first + number) for number in range(count)]

    def one(self) -> str:
        return self.many(1)[0]
