"""Doing many things at once, where each is a journey to a store and back.

The threads are kept from one time to the next, and are the same for all that use these lanes: what is done in a lane
must not ask for lanes of its own.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

From = TypeVar("From")
To = TypeVar("To")


class Lanes:
    def __init__(self, count: int) -> None:
        self._count = count
        self._lock = Lock()
        self._pool: tuple[int, ThreadPoolExecutor] | None = None

    @property
    def many(self) -> int:
        """How much is worth starting at once."""
        return 1 if self._count == 1 else self._count * 8

    def each(self, act: Callable[[From], To], items: Iterable[From]) -> Iterator[To]:
        """What `act` makes of each, in order. An error is raised in its turn, when what is under way has ended."""
        work = list(items)
        if self._count == 1 or len(work) == 1:
            yield from map(act, work)
            return
        from concurrent.futures import wait

        pool = self._threads()
        begun = [pool.submit(act, item) for item in work]
        try:
            for one in begun:
                yield one.result()
        finally:
            wait([one for one in begun if not one.cancel()])

    def _threads(self) -> "ThreadPoolExecutor":
        process = os.getpid()
        with self._lock:
            if self._pool is None or self._pool[0] != process:  # a forked child has none of its parent's threads
                from concurrent.futures import ThreadPoolExecutor

                self._pool = (process, ThreadPoolExecutor(self._count, "lane"))
            return self._pool[1]
