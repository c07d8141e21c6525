"""A desk and what waits at it: from the event loop's side to the side that may block."""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from dibs.errors import DibsError
from dibs.serve.cache.chosen import Chosen
from dibs.serve.cache.files import KnownFiles
from dibs.serve.cache.pages import Pages
from dibs.serve.cache.written import Page, Written
from dibs.serve.desk import Desk
from dibs.serve.health import Health
from dibs.serve.journal import Journal
from dibs.serve.pace import Pace
from dibs.serve.refusal import Refusal
from dibs.serve.sessions import GRACE_SECONDS, Sessions
from dibs.serve.signs import Seen, Signs
from dibs.serve.threads import MOST_EACH, Threads
from dibs.serve.waiting import Waiting
from dibs.task import Task

T = TypeVar("T")
MOST_LISTINGS = 100


class Counter:
    """`threads`: how many it may have of its own."""

    def __init__(self, desk: Desk, threads: int = MOST_EACH, grace: float = GRACE_SECONDS) -> None:
        self.desk = desk
        self.waiting = Waiting(desk)
        self.sessions = Sessions(self._missed, self._bury, grace)
        self._signs = Signs(desk)
        self.threads = Threads(desk.name, threads)
        self.health = Health(desk.name, lambda: desk.queue.paused)
        self._pace = Pace(desk.queue)
        self._long = 0  # what is in threads and not usually short
        self._written: Written | None = None
        self._pages: Pages | None = None
        self._journal: Journal | None = None
        self._listings: OrderedDict[str, tuple[Iterator[Task], asyncio.Lock]] = OrderedDict()

    async def run(self, act: Callable[..., T], *args: Any) -> T:
        """In a thread. What was begun is finished, whoever hangs up."""
        self._long += 1
        try:
            return await self.threads.run(act, *args)
        finally:
            self._long -= 1

    async def step(self, act: Callable[..., T], *args: Any, **more: Any) -> T:
        """The same for what is usually short: here and now, while it is and nothing long runs."""
        name = act.__name__
        if self._long or not self._pace.quick(name):
            return await self.threads.run(partial(act, *args, **more))
        begun = self.desk.now()
        try:
            return act(*args, **more)
        finally:
            self._pace.note(name, self.desk.now() - begun)

    async def first_page(self, chosen: Chosen, size: int) -> bytes:
        look = self.desk.look
        if self._written is None:
            self._written = Written(lasting=getattr(look, "lasting", False), mask=self.desk.mask)
            self._pages = Pages(look, self._written) if isinstance(look, KnownFiles) else None
        rest: Iterator[Task] | None = None
        if self._pages is None:
            rest, page = await self.run(self._begin, chosen, size)
        else:
            known = self._pages.known(chosen, size)
            page = known if known is not None else await self.run(self._pages.make, chosen, size)
        if page.size < size or size == chosen.limit:
            return page.followed_by(None)
        name = secrets.token_urlsafe(12)
        self._keep(name, chosen.without(look, page) if rest is None else rest, asyncio.Lock())
        return page.followed_by(name)

    async def next_page(self, name: str, size: int) -> bytes:
        found = self._listings.pop(name, None)
        if found is None or self._written is None:
            raise Refusal("bad-input", "this list is over, or the daemon was restarted; list again")
        tasks, lock = found
        async with lock:
            page = await self.run(self._written.page, tasks, size)
        more = page.size == size
        if more:
            self._keep(name, tasks, lock)
        return page.followed_by(name if more else None)

    def _begin(self, chosen: Chosen, size: int) -> tuple[Iterator[Task], Page]:
        assert self._written is not None
        tasks = chosen.listed(self.desk.look)
        return tasks, self._written.page(tasks, size)

    def _keep(self, name: str, tasks: Iterator[Task], lock: asyncio.Lock) -> None:
        self._listings[name] = (tasks, lock)
        while len(self._listings) > MOST_LISTINGS:
            self._listings.popitem(last=False)

    def keep(self, journal: Journal) -> None:
        """In the event loop. What the daemon before this one handed out is known from its journal."""
        self._journal = journal
        self.desk.ties.keep(journal)
        self.sessions.keep(journal)

    async def _missed(self, session: str) -> Seen:
        with suppress(DibsError, Refusal):
            return await self.run(self._signs.seen, session)
        return {}

    async def _bury(self, session: str, seen: Seen) -> bool:
        """False when it lives, with another daemon: what it holds is that one's affair, or its TTL's."""
        with suppress(DibsError, Refusal):  # then it runs out by itself
            if await self._elsewhere(session, seen):
                self.desk.ties.leave(session)
                return False
            if self.sessions.here(session):
                return False
            if held := self.desk.ties.of(session):
                await self.run(self.desk.end, *held)
        return True

    async def _elsewhere(self, session: str, seen: Seen) -> bool:
        if self._journal is not None and await self.run(self._journal.elsewhere, session):
            return True
        return await self.run(self._signs.renewed, seen)

    def look(self) -> None:
        """Now and then: whether the queue still answers."""
        self.health.look(max(self.threads.waited(), self.waiting.waited()))

    def silent(self) -> None:
        """The queue does not answer: nobody need wait here for what it has."""
        self.waiting.refuse(self.health.refusal())

    def stop(self) -> None:
        self.waiting.stop()
        self.sessions.stop()
        self._listings.clear()
        if self._pages is not None:
            self._pages.close()

    def close(self) -> None:
        self.threads.close()
        self.health.close()
        if self._journal is not None:
            self._journal.close()
        self.desk.close()
