"""Lists that are read a page at a time: where each stands is kept here, for as long as there are not too many."""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Iterator
from itertools import islice
from typing import Any

from dibs.serve.counter import Counter
from dibs.serve.refusal import Refusal
from dibs.task import Task

ROWS = 50
MOST_LISTS = 100


class Listings:
    def __init__(self) -> None:
        self._open: OrderedDict[str, tuple[Counter, Iterator[Task]]] = OrderedDict()

    async def first(self, counter: Counter, chosen: dict[str, Any]) -> dict[str, Any]:
        """`chosen`: state, project and labels."""
        filters = {"project": chosen.get("project"), "labels": chosen.get("label", ())}
        tasks = await counter.run(lambda: iter(counter.desk.look.tasks(chosen.get("state"), **filters)))
        return await self._page(counter, tasks)

    async def following(self, name: str) -> dict[str, Any]:
        """Each page is given out once: whoever wants it again must have kept it."""
        found = self._open.pop(name, None)
        if found is None:
            raise Refusal("bad-input", "this list is over, or the daemon was restarted; list again")
        return await self._page(*found)

    async def _page(self, counter: Counter, tasks: Iterator[Task]) -> dict[str, Any]:
        rows = await asyncio.shield(counter.run(lambda: [task.to_json() for task in islice(tasks, ROWS)]))
        name = None
        if len(rows) == ROWS:
            name = secrets.token_urlsafe(12)
            self._open[name] = (counter, tasks)
            while len(self._open) > MOST_LISTS:
                self._open.popitem(last=False)
        return {"tasks": rows, "next": name}
