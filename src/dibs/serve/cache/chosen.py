"""What a list is asked for, and the list."""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from dibs.serve.cache.looking import Looking
from dibs.serve.cache.written import Page
from dibs.states import State
from dibs.task import Task


class Chosen(NamedTuple):
    state: str | None = None
    project: str | None = None
    labels: tuple[str, ...] = ()
    limit: int | None = None
    newest: bool = False  # what ended last first, of a state that is over

    def listed(self, look: Looking) -> Iterator[Task]:
        if self.newest:
            state = self.state or State.COMPLETED
            return iter(look.newest(state, project=self.project, labels=self.labels, limit=self.limit))
        return iter(look.tasks(self.state, project=self.project, labels=self.labels, limit=self.limit))

    def without(self, look: Looking, page: Page) -> Iterator[Task]:
        """What follows a page. Nothing is read before it is asked for."""
        others = (task for task in self._replace(limit=None).listed(look) if task.id not in page.shown)
        return others if self.limit is None else islice(others, max(self.limit - page.size, 0))
