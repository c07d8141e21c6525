"""Facets: what a task is filtered and counted by.

Project and labels never change after push, the priority seldom, and few combinations occur in one queue. Each
combination has a short code that stands in the task's name, so filters and statistics read
names only, never a million files. `facets/<code>` holds the combination for whoever reads the names.
"""

from typing import Any, NamedTuple

from dibs.errors import BadInput
from dibs.task import Task, encode, priority_of
from dibs.values import dataclass


class Facet(NamedTuple):
    priority: int = 50
    project: str | None = None
    labels: tuple[str, ...] = ()

    @property
    def code(self) -> str:
        if not self.project and not self.labels:
            return f"{self.priority}"
        import hashlib

        return f"{self.priority}-" + hashlib.sha256(self.to_bytes()).hexdigest()[:12]

    def to_bytes(self) -> bytes:
        return encode({"priority": self.priority, "project": self.project, "labels": self.labels})


def facet_of(task: Task) -> Facet:
    return Facet(task.priority, task.project, task.labels)


def plain_facet(code: str) -> Facet | None:
    """The facet of a code that needs no look-up: a bare priority. None for any other code."""
    return Facet(int(code)) if code.isascii() and code.isdigit() else None


def facet_from_record(record: Any) -> Facet:
    """Raises BadInput when the record is not a facet's."""
    try:
        return Facet(int(record["priority"]), record["project"], tuple(record["labels"]))
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"not a facet record: {error!r}") from None


@dataclass(frozen=True, slots=True)
class Filter:
    """Which tasks a claimer wants, or a listing shows. All labels named must be there."""

    project: str | None = None
    labels: frozenset[str] = frozenset()
    max_priority: int | None = None

    def __call__(self, facet: Facet) -> bool:
        return (
            (self.project is None or facet.project == self.project)
            and self.labels <= set(facet.labels)
            and (self.max_priority is None or facet.priority <= self.max_priority)
        )

    def __bool__(self) -> bool:
        return self != EVERYTHING


EVERYTHING = Filter()


def make_filter(project: str | None = None, labels: Any = (), max_priority: int | str | None = None) -> Filter:
    if isinstance(labels, str):
        labels = (labels,)
    ceiling = None if max_priority is None else priority_of(max_priority)
    if project is None and not labels and ceiling is None:
        return EVERYTHING
    return Filter(project, frozenset(labels), ceiling)
