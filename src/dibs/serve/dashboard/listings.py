"""Lists that are read a page at a time: where each stands is kept here, for as long as there are not too many."""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Iterator
from itertools import islice
from typing import Any

from dibs.serve.cache.chosen import Chosen
from dibs.serve.counter import Counter
from dibs.serve.refusal import Refusal
from dibs.states import TERMINAL
from dibs.task import Task

ROWS = 50
MOST_LISTS = 100


class Listings:
    def __init__(self) -> None:
        self._open: OrderedDict[str, tuple[Counter, Iterator[Task]]] = OrderedDict()

    async def first(self, counter: Counter, chosen: dict[str, Any]) -> dict[str, Any]:
        """`chosen`: state, project and labels. Of what is over, what ended last comes first."""
        state, labels = chosen.get("state"), tuple(chosen.get("label", ()))
        wanted = Chosen(state, chosen.get("project"), labels, newest=state in TERMINAL)
        tasks = await counter.run(wanted.listed, counter.desk.look)
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
