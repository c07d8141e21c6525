"""Claims that wait. However many wait on a queue, one thread looks for all of them, as one worker would.

Looking and waiting are of one thread, so that no word is missed between. Those who want the same are served together by
one claim, the longest waiting first; what nobody is left to have goes back at once.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from dibs.errors import DibsError
from dibs.facets import Filter
from dibs.queues.held import Lease
from dibs.serve.desk import Desk, Wanted
from dibs.serve.refusal import Refusal

LONGEST_PAUSE = 1.0
Found = tuple[float, list[Lease]]
Kind = tuple[float, Filter]  # those who want the same, for as long


class Waiter:
    def __init__(self, limit: int, wanted: Wanted, until: float) -> None:
        self.limit = limit
        self.wanted = wanted
        self.until = until  # boottime
        self.found: asyncio.Future[Found] = asyncio.get_running_loop().create_future()


class Waiting:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._waiters: list[Waiter] = []
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="dibs-waiting")
        self._looking: asyncio.Task[None] | None = None
        self._pause = 0.0
        self._since: float | None = None  # the present look
        self._over = False

    def __len__(self) -> int:
        return len(self._waiters)

    def waited(self) -> float:
        """For how many seconds the present look has lasted."""
        return 0.0 if self._since is None else asyncio.get_running_loop().time() - self._since

    def join(self, limit: int, wanted: Wanted, until: float) -> Waiter:
        """`found` of what this returns is set when there is something, or the time is over."""
        if self._over:
            raise Refusal("stopping", "the daemon is stopping; ask again")
        waiter = Waiter(limit, wanted, until)
        self._waiters.append(waiter)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.get_running_loop().create_task(self._look())
        return waiter

    def leave(self, waiter: Waiter) -> None:
        if waiter in self._waiters:
            self._waiters.remove(waiter)

    def refuse(self, refusal: Refusal) -> None:
        """All that wait now. What is found for them after all goes back."""
        for waiter in self._waiters:
            waiter.found.set_exception(refusal)
        self._waiters.clear()

    def stop(self) -> None:
        self._over = True
        self.refuse(Refusal("stopping", "the daemon is stopping; ask again"))
        self._desk.queue.rouse()
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _look(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiters and not self._over:
            groups: dict[Kind, int] = {}
            for waiter in self._waiters:
                key: Kind = (waiter.wanted.ttl, waiter.wanted.filter)
                groups[key] = groups.get(key, 0) + waiter.limit
            nearest = min(waiter.until for waiter in self._waiters)
            self._since = loop.time()
            found = await loop.run_in_executor(self._thread, self._round, groups, nearest)
            self._since = None
            for key, result in found.items():
                self._hand_out(key, result)
            now = self._desk.now()
            for waiter in [waiter for waiter in self._waiters if now >= waiter.until]:
                self._settle(waiter, (now, []))

    def _round(self, groups: dict[Kind, int], nearest: float) -> dict[Kind, Found | DibsError]:
        """In the thread: a claim for each group, and where none brought anything, a wait."""
        queue = self._desk.queue
        found: dict[Kind, Found | DibsError] = {}
        for key, many in groups.items():
            looked = self._desk.now()
            try:
                leases = queue._take(many, *key)
            except DibsError as error:
                found[key] = error
                continue
            if leases:
                found[key] = (looked, leases)
        if found:
            self._pause = 0.0
            return found
        first = LONGEST_PAUSE if queue.wakes else queue.first_pause
        self._pause = min(self._pause * 1.5 or first, LONGEST_PAUSE, queue.idle_seconds)
        left = nearest - self._desk.now()
        if left > 0 and not self._over:
            queue._wait(min(self._pause, left))
        return found

    def _hand_out(self, key: Kind, result: Found | DibsError) -> None:
        theirs = [waiter for waiter in self._waiters if (waiter.wanted.ttl, waiter.wanted.filter) == key]
        if isinstance(result, DibsError):
            for waiter in theirs:
                self.leave(waiter)
                waiter.found.set_exception(result)
            return
        looked, leases = result
        for waiter in theirs:
            if not leases:
                break
            mine, leases = leases[: waiter.limit], leases[waiter.limit :]
            self._desk.note(mine, waiter.wanted.session)
            self._settle(waiter, (looked, mine))
        if leases:
            self._desk.note(leases, None)
            self._in_thread(lambda: self._desk.give_back(leases))

    def _settle(self, waiter: Waiter, found: Found) -> None:
        self.leave(waiter)
        if not waiter.found.done():
            waiter.found.set_result(found)

    def _in_thread(self, act: Callable[[], None]) -> None:
        if not self._over:
            self._thread.submit(act)
