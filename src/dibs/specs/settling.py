"""Which value a field gets when two sides changed a spec: pure, one field at a time."""

from collections.abc import Callable
from typing import Any, Final

ABSENT: Final = object()
CONFLICT: Final = object()

LISTS = ("labels", "depends_on")
"""Fields in which one text stands for a list of one."""


def settled(key: str, base: Any, ours: Any, theirs: Any, rank: Callable[[str], int]) -> Any:
    """The merged value, ABSENT (which the values may be, too), or CONFLICT."""
    if _same(ours, theirs) or _same(base, theirs):
        return ours
    if _same(base, ours):
        return theirs
    if key == "status":
        return _status(ours, theirs, rank)
    if key in LISTS or isinstance(ours, list) or isinstance(theirs, list):
        return _united(key, base, ours, theirs)
    return CONFLICT


def _status(ours: Any, theirs: Any, rank: Callable[[str], int]) -> Any:
    if not isinstance(ours, str) or not isinstance(theirs, str):
        return CONFLICT
    ahead = rank(ours) - rank(theirs)
    return ours if ahead > 0 else theirs if ahead < 0 else CONFLICT


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
