"""A spec as a value: what the frontmatter and the first heading of one markdown file say.

Made from checked values (`fields`), which may come from a file or from the cache. A file that cannot be read as a
spec is a `Broken`: it is shown, and never written.
"""

from collections.abc import Mapping
from typing import Any

from dibs.specs.statuses import Status
from dibs.values import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """One spec. Times are as written, but `not_before`, which is compared: seconds since 1970."""

    id: str
    path: str
    title: str
    status: Status = Status.PENDING
    priority: int = 50
    depends_on: tuple[str, ...] = ()  # ids
    members: tuple[str, ...] = ()  # ids: a driver waits for its members as for dependencies
    labels: tuple[str, ...] = ()
    project: str | None = None
    type: str | None = None
    approval: str | None = None  # pending, approved or rejected; None when none is asked for
    started_by: str | None = None
    started_at: str | None = None
    completed_at: str | None = None
    attempts: int = 0
    max_attempts: int | None = None
    max_deaths: int | None = None
    max_runtime: float | None = None
    backoff: float | None = None
    max_backoff: float | None = None
    epoch: int = 0  # of the latest claim, where claims go through git
    error: str | None = None
    not_before: float | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def waits_for(self) -> tuple[str, ...]:
        return self.depends_on + self.members

    @property
    def approved(self) -> bool:
        return self.approval in (None, "approved")


@dataclass(frozen=True, slots=True)
class Broken:
    """A file that cannot be read as a spec, and why."""

    id: str
    path: str
    line: int | None
    reason: str


def from_bytes(id: str, path: str, data: bytes) -> Spec:  # noqa: A002
    """BadSpec when `data` is no spec."""
    from dibs.specs.fields import values_of  # only for what is not in the cache

    return from_values(id, path, values_of(data))


def from_values(id: str, path: str, values: dict[str, Any]) -> Spec:  # noqa: A002
    """The spec of `values_of` its file; the values may have been JSON in between."""
    given = dict(values)
    if "status" in given:
        given["status"] = Status(given["status"])
    for name in ("depends_on", "members", "labels"):
        if name in given:
            given[name] = tuple(given[name])
    given.setdefault("title", id)
    return Spec(id=id, path=path, **given)
