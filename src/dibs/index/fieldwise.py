"""Merging field by field: of each field the latest value that anybody gave stays.

A field that a record does not have says nothing. So that the outcome is the same in every order, the time of each field
is kept: in the third field of a line, `_times`, as JSON, for those whose time is not the record's; under the empty name
the time of the last deletion. A value given at or before a deletion is gone; a later one brings the record back.
"""

import json
from typing import NamedTuple

from dibs.errors import BadInput
from dibs.index.merge import Rule
from dibs.index.times import compare, instant
from dibs.index.usv import DELETED, MISSING, UNIT, escape, unescape

TIMES = "_times"
_FIRST = 3  # of the user's fields

Said = tuple[bytes, bytes]  # time and value, both as written


class State(NamedTuple):
    key: bytes
    said: bytes | None  # the time of the latest record
    deleted: bytes | None
    values: dict[int, Said]
    width: int


def rule_for(fields: tuple[str, ...]) -> Rule:
    def rule(one: bytes, other: bytes) -> bytes:
        return one if one == other else _line(_joined(_state(one, fields), _state(other, fields)), fields)

    return rule


def _state(line: bytes, fields: tuple[str, ...]) -> State:
    units = line.split(UNIT)
    key, time = units[:2]
    if time.startswith(DELETED):
        return State(key, None, time[2:], {}, len(units))
    written = units[2] if len(units) > 2 else MISSING
    times = {} if written == MISSING else times_in(unescape(written.decode()))
    values = {
        number: (times[fields[number]].encode() if fields[number] in times else time, value)
        for number, value in enumerate(units)
        if number >= _FIRST and value != MISSING
    }
    deleted = times.get("")
    return State(key, time, None if deleted is None else deleted.encode(), values, len(units))


def times_in(text: str | None) -> dict[str, str]:
    """The times of fields, by name. BadInput when they are none."""
    if text is None:
        return {}
    try:
        times = json.loads(text)
        for time in times.values():
            instant(time)
        return dict(times)
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise BadInput(f"{TIMES} {text[:60]!r} are no times of fields") from None


def _joined(one: State, other: State) -> State:
    values = dict(one.values)
    for number, value in other.values.items():
        values[number] = _later_said(values[number], value) if number in values else value
    said, deleted = _later_time(one.said, other.said), _later_time(one.deleted, other.deleted)
    if deleted is not None:
        values = {number: (time, text) for number, (time, text) in values.items() if compare(time, deleted) > 0}
    return State(one.key, said, deleted, values, max(one.width, other.width))


def _later_time(one: bytes | None, other: bytes | None) -> bytes | None:
    if one is None or other is None:
        return other if one is None else one
    order = compare(one, other)
    return max(one, other) if order == 0 else one if order > 0 else other


def _later_said(one: Said, other: Said) -> Said:
    order = compare(one[0], other[0])
    return max(one, other, key=lambda said: said[::-1]) if order == 0 else one if order > 0 else other


def _line(state: State, fields: tuple[str, ...]) -> bytes:
    blank = [MISSING] * (state.width - 2)
    if state.said is None or (state.deleted is not None and compare(state.said, state.deleted) <= 0):
        return UNIT.join([state.key, DELETED + (state.deleted or b""), *blank])
    units = [state.key, state.said, *blank]
    times: dict[str, str] = {} if state.deleted is None else {"": state.deleted.decode()}
    for number, (time, value) in state.values.items():
        units[number] = value
        if time != state.said:
            times[fields[number]] = time.decode()
    if times:
        units[2] = escape(json.dumps(times, sort_keys=True, separators=(",", ":"), ensure_ascii=False)).encode()
    return UNIT.join(units)
