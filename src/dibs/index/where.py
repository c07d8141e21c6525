"""Which records of a scan are wanted: a prefix of the key, and conditions such as `status=200` or `size>=1000`.

Two numbers are compared as numbers, times of records as times, anything else as text; `~` is "contains". A field that
is missing fulfils no condition. Spaces around the sign do not count.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from dibs.errors import BadInput
from dibs.index.times import instant
from dibs.index.usv import Value, line_of, values_of

_CONDITION = re.compile(r"(.+?)(!=|<=|>=|=|<|>|~)(.*)", re.DOTALL)
_MISTAKEN = {"==": "=", "=>": ">=", "=<": "<=", "<>": "!=", "=~": "~", "~=": "~", "!==": "!="}
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
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


def conditions(texts: str | Iterable[str], fields: Sequence[str]) -> list[Condition]:
    """One is enough. BadInput when one is none, or names a field that is not there."""
    found = []
    for text in [texts] if isinstance(texts, str) else texts:
        match = _CONDITION.fullmatch(text)
        if match is None:
            raise BadInput(
                f"condition {text!r} is not acceptable; write FIELD=VALUE, with = != < <= > >= or ~ (contains)"
            )
        name, sign, value = match[1].strip(), match[2], match[3]
        if meant := _MISTAKEN.get(sign + value[:1]):
            other = f"{name}{sign} {value} for a value that begins with {value[0]}"
            raise BadInput(f"condition {text!r} is not acceptable; write {name}{meant}{value[1:].strip()}, or {other}")
        condition = Condition(place_of(name, fields), sign, value.lstrip())
        if condition.place == 1 and sign != "~":
            instant(condition.value)  # says what a time is
        found.append(condition)
    return found


def place_of(name: str, fields: Sequence[str]) -> int:
    try:
        return fields.index(name)
    except ValueError:
        raise BadInput(f"there is no field {name!r}; the fields are {', '.join(fields)}") from None


class Where:
    """`columns`: the fields that are wanted of a record. BadInput when one is not there, or named twice."""

    def __init__(
        self, fields: Sequence[str], prefix: str, wanted: Sequence[Condition], columns: str | Sequence[str] = ()
    ) -> None:
        self.fields = fields
        self.prefix = prefix
        self.wanted = wanted
        self.columns = [columns] if columns and isinstance(columns, str) else list(columns or fields)
        self._start = line_of([prefix]) if prefix else b""
        self._places = [(name, place_of(name, fields)) for name in self.columns]
        for name in self.columns:
            if self.columns.count(name) > 1:
                raise BadInput(f"column {name!r} is named twice; name it once")

    def record(self, line: bytes) -> dict[str, Value] | None:
        """The line as a record, if it is wanted. What it has beyond the fields was added since, and is left out."""
        if not line.startswith(self._start):
            return None
        values = values_of(line)
        values += [None] * (len(self.fields) - len(values))
        if all(condition.holds(values[condition.place]) for condition in self.wanted):
            return {name: values[place] for name, place in self._places}
        return None


def _order(one: str, other: str, *, time: bool) -> int:
    left: object
    right: object
    try:
        left, right = (instant(one), instant(other)) if time else (_number(one), _number(other))
    except ValueError:
        left, right = one, other
    return (left > right) - (left < right)  # type: ignore[operator]


@lru_cache(1024)
def _number(text: str) -> Decimal:
    """Exactly; ValueError when it is none. What Python would take for one besides (nan, 1_000) is text."""
    if not _NUMBER.fullmatch(text):
        raise ValueError(text)
    try:
        return Decimal(text)
    except ArithmeticError:
        raise ValueError(text) from None
