"""What runs beside the queues for the dashboard: a sampler for each, in threads of its own, and those who watch."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

from dibs.serve.counter import Counter
from dibs.serve.dashboard.endings import Endings
from dibs.serve.dashboard.events import Watcher
from dibs.serve.dashboard.listings import Listings
from dibs.serve.dashboard.sampler import Sampler
from dibs.serve.house import House
from dibs.serve.masking import hiding
from dibs.serve.refusal import Refusal

MOST_WATCHERS = 200


def dump(value: Any) -> bytes:
    """In ASCII: whatever was in a queue can be written so, halves of characters too."""
    return json.dumps(value, separators=(",", ":"), default=str).encode()


class Dashboard:
    """`mask`: the keys of payloads whose values are not shown, here and in any list."""

    def __init__(self, mask: Sequence[str] = ()) -> None:
        self.mask = tuple(mask)
        self.hide = hiding(mask)
        self.listings = Listings()
        self.endings = Endings()
        self.samplers: dict[str, Sampler] = {}
        self._watchers: set[Watcher] = set()
        self._loops: list[asyncio.Task[None]] = []
        self._threads: ThreadPoolExecutor | None = None
        self._watched = asyncio.Event()
        self._over = False

    async def start(self, house: House) -> None:
        self._threads = ThreadPoolExecutor(max(len(house.names), 1), thread_name_prefix="dibs-dashboard")
        for counter in house.counters.values():
            self.join(house, counter)

    def join(self, house: House, counter: Counter) -> None:
        self.samplers[counter.desk.name] = sampler = Sampler(counter.desk, house.clock)
        self._loops.append(asyncio.create_task(self._follow(sampler, house)))

    def stop(self) -> None:
        self._over = True
        for loop in self._loops:
            loop.cancel()
        for watcher in self._watchers:
            watcher.stop()

    def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)

    @contextmanager
    def watching(self) -> Iterator[Watcher]:
        if self._over:
            raise Refusal("stopping", "the daemon is stopping; ask again")
        if len(self._watchers) >= MOST_WATCHERS:
            raise Refusal("busy", f"{MOST_WATCHERS} pages watch already; close one, or ask again later")
        watcher = Watcher()
        self._watchers.add(watcher)
        self._watched.set()
        for sampler in self.samplers.values():
            watcher.tell(sampler.name, dump(sampler.to_json()))
        try:
            yield watcher
        finally:
            self._watchers.discard(watcher)
            if not self._watchers:
                self._watched.clear()

    async def _follow(self, sampler: Sampler, house: House) -> None:
        told = ""
        while not self._over:
            pause = sampler.pause(bool(self._watchers))
            if pause is None:
                await self._watched.wait()
            try:
                await asyncio.get_running_loop().run_in_executor(self._threads, sampler.look)
            except Exception as error:
                house.log(f"dashboard: queue {sampler.name}: internal error: {error!r}")
            news = sampler.to_json()
            fresh = json.dumps([news["version"], news["rates"]])
            if fresh != told:
                told = fresh
                for watcher in self._watchers:
                    watcher.tell(sampler.name, dump(news))
            await self._rest(sampler)

    async def _rest(self, sampler: Sampler) -> None:
        """Cut short by the first who watches."""
        watched = bool(self._watchers)
        pause = sampler.pause(watched)
        if pause is None:
            return
        if watched:
            await asyncio.sleep(pause)
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(self._watched.wait(), pause)


def of(house: House) -> Dashboard:
    """Refusal when the daemon has none."""
    found = next((one for one in house.beside if isinstance(one, Dashboard)), None)
    if found is None:
        raise Refusal("no-route", "this daemon has no dashboard; /v1/openapi.json says what there is")
    return found
