"""What ordering needs to know of every spec, in columns: ten thousand of them are read from a cache in one go.

A code is one letter for a status; a pending spec that nobody approved yet, and a file that cannot be read,
have codes of their own, since neither can run.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from dibs.specs.statuses import Status

CODES = {
    Status.PENDING: "p",
    Status.BLOCKED: "b",
    Status.IN_PROGRESS: "i",
    Status.PAUSED: "z",
    Status.COMPLETED: "c",
    Status.FAILED: "f",
    Status.NEEDS_ATTENTION: "n",
    Status.CANCELLED: "x",
}
READY, RUNNING, COMPLETED = CODES[Status.PENDING], CODES[Status.IN_PROGRESS], CODES[Status.COMPLETED]
UNAPPROVED = "a"
BROKEN = "!"
STATUSES: dict[str, Status | None] = {
    **{code: status for status, code in CODES.items()},
    UNAPPROVED: Status.PENDING,
    BROKEN: None,
}
_APART = "\t"  # no id holds it


class Nodes(NamedTuple):
    """Every spec at the same place of each column."""

    ids: Sequence[str]
    codes: Sequence[str]
    priorities: Sequence[int]
    waits: Sequence[Sequence[str]]  # ids that must be completed first
    not_before: Sequence[float]  # 0 when there is none


Hot = tuple[str, int, str, float]
"""One spec's part of the columns, as the cache holds it: code, priority, dependencies, time."""
NOTHING: Hot = (BROKEN, 0, "", 0.0)


def hot(values: dict[str, Any]) -> Hot:
    """What to keep at hand of the values of one spec; None is as good as absent."""
    get = values.get
    code = CODES[get("status") or Status.PENDING]
    if code == READY and get("approval") not in (None, "approved"):
        code = UNAPPROVED
    refs, members, priority = get("depends_on") or (), get("members"), get("priority")
    if members:
        refs = (*refs, *members)
    return code, 50 if priority is None else priority, _APART.join(refs), get("not_before") or 0.0


def split(waits: Sequence[str]) -> list[Sequence[str]]:
    return [refs.split(_APART) if refs else () for refs in waits]
