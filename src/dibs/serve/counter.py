"""A desk and what waits at it: from the event loop's side to the side that may block."""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from dibs.errors import DibsError
from dibs.serve.cache.written import Written
from dibs.serve.desk import Desk
from dibs.serve.pace import Pace
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
        self._pace = Pace(desk.queue)
        self._backlog = 0  # what is in threads, and
        self._long = 0  # of that, what is not usually short
        self._written: Written | None = None
        self._listings: OrderedDict[str, tuple[Iterator[Task], asyncio.Lock]] = OrderedDict()

    async def run(self, act: Callable[..., T], *args: Any) -> T:
        """In a thread. What was begun is finished, whoever hangs up."""
        self._long += 1
        try:
            return await self._hop(act, *args)
        finally:
            self._long -= 1

    async def _hop(self, act: Callable[..., T], *args: Any) -> T:
        if self._backlog >= MOST_BACKLOG:
            raise Refusal("busy", f"{self._backlog} requests wait for the queue already; ask again later")
        self._backlog += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, act, *args)
        finally:
            self._backlog -= 1

    async def step(self, act: Callable[..., T], *args: Any, **more: Any) -> T:
        """The same for what is usually short: here and now, while it is and nothing long runs."""
        name = act.__name__
        if self._long or not self._pace.quick(name):
            return await self._hop(partial(act, *args, **more))
        begun = self.desk.now()
        try:
            return act(*args, **more)
        finally:
            self._pace.note(name, self.desk.now() - begun)

    async def first_page(self, tasks: Iterator[Task], size: int) -> bytes:
        return await self._page(secrets.token_urlsafe(12), tasks, asyncio.Lock(), size)

    async def next_page(self, name: str, size: int) -> bytes:
        found = self._listings.pop(name, None)
        if found is None:
            raise Refusal("bad-input", "this list is over, or the daemon was restarted; list again")
        return await self._page(name, *found, size)

    async def _page(self, name: str, tasks: Iterator[Task], lock: asyncio.Lock, size: int) -> bytes:
        if self._written is None:
            self._written = Written(lasting=getattr(self.desk.look, "lasting", False))
        async with lock:
            page = await self.run(self._written.page, tasks, size)
        more = page.size == size
        if more:
            self._listings[name] = (tasks, lock)
            while len(self._listings) > MOST_LISTINGS:
                self._listings.popitem(last=False)
        return page.followed_by(name if more else None)

    async def _bury(self, session: str) -> None:
        with suppress(DibsError):  # then it runs out by itself
            if held := self.desk.held_by(session):
                await self.run(self.desk.end, *held)

    def stop(self) -> None:
        self.waiting.stop()
        self.sessions.stop()
        self._listings.clear()
