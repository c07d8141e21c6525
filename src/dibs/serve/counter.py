"""A desk and what waits at it: from the event loop's side to the side that may block."""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from dibs.errors import DibsError
from dibs.serve.desk import Desk, page_of
from dibs.serve.refusal import Refusal
from dibs.serve.sessions import GRACE_SECONDS, Sessions
from dibs.serve.waiting import Waiting
from dibs.task import Task

T = TypeVar("T")
THREADS = 8
MOST_BACKLOG = 2000
MOST_LISTINGS = 100


class Counter:
    def __init__(self, desk: Desk, pool: ThreadPoolExecutor, grace: float = GRACE_SECONDS) -> None:
        self.desk = desk
        self.waiting = Waiting(desk)
        self.sessions = Sessions(self._bury, grace)
        self._pool = pool
        self._backlog = 0
        self._listings: OrderedDict[str, tuple[Iterator[Task], asyncio.Lock]] = OrderedDict()

    async def run(self, act: Callable[..., T], *args: Any) -> T:
        """In a thread. What was begun is finished, whoever hangs up."""
        if self._backlog >= MOST_BACKLOG:
            raise Refusal("busy", f"{self._backlog} requests wait for the queue already; ask again later")
        self._backlog += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, act, *args)
        finally:
            self._backlog -= 1

    async def first_page(self, tasks: Iterator[Task], size: int) -> dict[str, Any]:
        return await self._page(secrets.token_urlsafe(12), tasks, asyncio.Lock(), size)

    async def next_page(self, name: str, size: int) -> dict[str, Any]:
        found = self._listings.pop(name, None)
        if found is None:
            raise Refusal("bad-input", "this list is over, or the daemon was restarted; list again")
        return await self._page(name, *found, size)

    async def _page(self, name: str, tasks: Iterator[Task], lock: asyncio.Lock, size: int) -> dict[str, Any]:
        async with lock:
            found = await self.run(page_of, tasks, size)
        more = len(found) == size
        if more:
            self._listings[name] = (tasks, lock)
            while len(self._listings) > MOST_LISTINGS:
                self._listings.popitem(last=False)
        return {"tasks": found, "next": name if more else None}

    async def _bury(self, session: str) -> None:
        with suppress(DibsError):  # then it runs out by itself
            if held := self.desk.held_by(session):
                await self.run(self.desk.end, *held)

    def stop(self) -> None:
        self.waiting.stop()
        self.sessions.stop()
        self._listings.clear()
