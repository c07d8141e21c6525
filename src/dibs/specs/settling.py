"""Which values the fields get when two sides changed a spec. Pure.

Each field is settled by itself, but for those that tell one story: who worked on the spec, when, and how it ended. When
both sides went on with that story, it is one side's as a whole: of the side whose status won, or, when both say the
same status, of the one that completed first.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from dibs.errors import BadInput

ABSENT: Final = object()
CONFLICT: Final = object()

LISTS = ("labels", "depends_on")
"""Fields in which one text stands for a list of one."""
STORY = ("started_by", "started_at", "completed_at", "error", "heartbeat_at")
COUNTERS = ("attempts", "epoch", "heartbeat_at")
"""Fields that only grow: the larger number, or the later time, stays."""

Values = Mapping[str, Any]
Rank = Callable[[str], int]


def settle(base: Values, ours: Values, theirs: Values, rank: Rank) -> dict[str, Any]:
    """Every field of the three with its merged value, ABSENT, or CONFLICT; in the order of ours."""
    found = {
        key: settled(key, base.get(key, ABSENT), ours.get(key, ABSENT), theirs.get(key, ABSENT), rank)
        for key in dict.fromkeys((*ours, *theirs, *base))
    }
    told = _teller(base, ours, theirs, found.get("status", ABSENT))
    if told is not None:
        found.update({key: told.get(key, ABSENT) for key in STORY if key in found})
    return found


def settled(key: str, base: Any, ours: Any, theirs: Any, rank: Rank) -> Any:
    """The merged value of one field, ABSENT (which the values may be, too), or CONFLICT."""
    if _same(ours, theirs) or _same(base, theirs):
        return ours
    if _same(base, ours):
        return theirs
    if key == "status":
        return _status(ours, theirs, rank)
    if key in COUNTERS:
        return _larger(ours, theirs)
    if key in LISTS or isinstance(ours, list) or isinstance(theirs, list):
        return _united(key, base, ours, theirs)
    return CONFLICT


def _status(ours: Any, theirs: Any, rank: Rank) -> Any:
    if not isinstance(ours, str) or not isinstance(theirs, str):
        return CONFLICT
    ahead = rank(ours) - rank(theirs)
    return ours if ahead > 0 else theirs if ahead < 0 else CONFLICT


def _larger(ours: Any, theirs: Any) -> Any:
    if ours is ABSENT or theirs is ABSENT:
        return theirs if ours is ABSENT else ours
    if type(ours) is int and type(theirs) is int:
        return max(ours, theirs)
    from dibs.specs.fields import moment

    try:
        return max(ours, theirs, key=moment)
    except BadInput:
        return CONFLICT


def _teller(base: Values, ours: Values, theirs: Values, status: Any) -> Values | None:
    """The side that has the story, when both changed it and it is clear whose it is."""
    before, mine, other = ([side.get(key, ABSENT) for key in STORY] for side in (base, ours, theirs))
    if _same(mine, other) or _same(before, mine) or _same(before, other):
        return None
    if _same(ours.get("status", ABSENT), theirs.get("status", ABSENT)):
        return _first_to_complete(ours, theirs)
    for side in (ours, theirs):
        if _same(side.get("status", ABSENT), status):
            return side
    return None


def _first_to_complete(ours: Values, theirs: Values) -> Values | None:
    """Of two that completed at the same moment it is the same one on both sides of the merge, whichever that is."""
    from dibs.specs.fields import moment

    try:
        first, second = (
            (moment(side["completed_at"]), repr([side.get(key) for key in STORY])) for side in (ours, theirs)
        )
    except (KeyError, BadInput):
        return None
    return ours if first < second else theirs


def _united(key: str, base: Any, ours: Any, theirs: Any) -> Any:
    """Ours without what they removed, then what they added."""
    before, mine, other = (_listed(key, value) for value in (base, ours, theirs))
    if before is None or mine is None or other is None:
        return CONFLICT
    known, here, there = ({repr(item) for item in items} for items in (before, mine, other))
    united = [item for item in mine if repr(item) in there or repr(item) not in known]
    united += [item for item in other if repr(item) not in known and repr(item) not in here]
    if not united and (ours is ABSENT or theirs is ABSENT):
        return ABSENT
    for whole, items in ((ours, mine), (theirs, other)):
        if _same(items, united) and whole is not ABSENT:
            return whole
    return united


def _listed(key: str, value: Any) -> list[Any] | None:
    if value is ABSENT or value is None:
        return []
    if isinstance(value, str) and key in LISTS:
        return [value]
    plain = isinstance(value, list) and not any(item is None or isinstance(item, (list, dict)) for item in value)
    return value if plain else None


def _same(one: Any, two: Any) -> bool:
    """Equal in value and type: 1, 1.0 and true differ."""
    return repr(one) == repr(two)
