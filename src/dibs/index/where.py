"""Which records of a scan are wanted: a prefix of the key, and conditions such as `status=200` or `size>=1000`.

Two numbers are compared as numbers, times of records as times, anything else as text; `~` is "contains". A field that
is missing fulfils no condition.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from dibs.errors import BadInput
from dibs.index.times import instant
from dibs.index.usv import Value, line_of, values_of

_CONDITION = re.compile(r"(.+?)(!=|<=|>=|=|<|>|~)(.*)", re.DOTALL)
_TESTS: dict[str, Callable[[int], bool]] = {
    "=": lambda order: order == 0,
    "!=": lambda order: order != 0,
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
}


class Condition(NamedTuple):
    place: int  # of the field
    sign: str
    value: str

    def holds(self, value: Value) -> bool:
        if value is None:
            return False
        if self.sign == "~":
            return self.value in value
        return _TESTS[self.sign](_order(value, self.value, time=self.place == 1))


def conditions(texts: Iterable[str], fields: Sequence[str]) -> list[Condition]:
    """BadInput when one is none, or names a field that is not there."""
    found = []
    for text in texts:
        match = _CONDITION.fullmatch(text)
        if match is None:
            raise BadInput(
                f"condition {text!r} is not acceptable; write FIELD=VALUE, with = != < <= > >= or ~ (contains)"
            )
        found.append(Condition(place_of(match[1].strip(), fields), match[2], match[3]))
    return found


def place_of(name: str, fields: Sequence[str]) -> int:
    try:
        return fields.index(name)
    except ValueError:
        raise BadInput(f"there is no field {name!r}; the fields are {', '.join(fields)}") from None


class Where:
    def __init__(self, fields: Sequence[str], prefix: str, wanted: Sequence[Condition]) -> None:
        self._fields = fields
        self._prefix = line_of([prefix]) if prefix else b""
        self._wanted = wanted

    @property
    def everything(self) -> bool:
        return not self._prefix and not self._wanted

    def columns(self, names: Sequence[str]) -> Sequence[str]:
        for name in names:
            place_of(name, self._fields)
        return names

    def record(self, line: bytes) -> dict[str, Value] | None:
        """The line as a record, if it is wanted."""
        if not line.startswith(self._prefix):
            return None
        values = values_of(line)
        values += [None] * (len(self._fields) - len(values))
        if all(condition.holds(values[condition.place]) for condition in self._wanted):
            return dict(zip(self._fields, values, strict=True))
        return None


def _order(one: str, other: str, *, time: bool) -> int:
    left: object
    right: object
    try:
        left, right = (instant(one), instant(other)) if time else (float(one), float(other))
    except ValueError:
        left, right = one, other
    return (left > right) - (left < right)  # type: ignore[operator]
