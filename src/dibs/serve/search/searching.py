"""Beside the daemon: an index for each queue, kept in step while nobody asks, and threads of its own for those who do.

Nothing of this is done by the threads that claim, and in the background at most a part of the time is used.
"""

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

from dibs.errors import DibsError
from dibs.serve.cache.looking import looking
from dibs.serve.refusal import Refusal
from dibs.serve.search.asking import Asked
from dibs.serve.search.from_scan import ScanSource
from dibs.serve.search.index import require
from dibs.serve.search.keeping import Keeping, Stopped
from dibs.serve.search.load import Load
from dibs.serve.search.shelf import Shelf, place_of
from dibs.serve.search.sources import source_of

if TYPE_CHECKING:
    from dibs.serve.counter import Counter
    from dibs.serve.house import House

THREADS = 2
MOST_WAITING = 50
LOOK_SECONDS = 2.0
POSTPONED_SECONDS = 20.0  # while the daemon is busy; a search does not wait for that
PATIENCE_SECONDS = 15.0
RESCAN_SECONDS = 30.0


class Searching:
    """`folder`: for the indexes; None is the user's cache folder, "none" is memory."""

    def __init__(self, folder: str | None = None, rescan: float = RESCAN_SECONDS) -> None:
        self._folder = folder
        self._rescan = rescan
        self._pools: list[ThreadPoolExecutor] = []  # one for each queue: none waits for another's
        self._waiting = 0
        self._over = threading.Event()
        self._all: list[Keeping] = []
        self._kept: list[Keeping] = []
        self._thread: threading.Thread | None = None

    async def start(self, house: "House") -> None:
        for counter in house.counters.values():
            self.join(house, counter)
        self._thread = threading.Thread(target=self._keep, args=(house.log,), name="dibs-indexing", daemon=True)
        self._thread.start()

    def join(self, house: "House", counter: "Counter") -> None:
        desk = counter.desk
        try:
            require()
        except DibsError as error:
            desk.search = partial(_refuse, error)
            return
        address, mask = desk.queue.address, desk.mask
        if mask:  # an index that lacks something is another's
            address = f"{address} without {' '.join(mask.names)}"
        look = looking(desk.queue) if desk.look is desk.queue else desk.look
        source = source_of(desk.queue, look, self._rescan, mask)
        shelf = Shelf(self._place(address), address)
        keeping = Keeping(desk.queue, source, shelf, patience=PATIENCE_SECONDS, log=house.log, mask=mask)
        pool = ThreadPoolExecutor(THREADS, thread_name_prefix="dibs-search")
        self._pools.append(pool)
        desk.search = partial(self._ask, pool, keeping)
        self._all.append(keeping)
        if not isinstance(source, ScanSource):  # what must be read whole is read when somebody asks
            self._kept.append(keeping)

    def _place(self, address: str) -> str | None:
        found = place_of(address)
        if self._folder is None or found is None:
            return found
        return None if self._folder == "none" else os.path.join(self._folder, os.path.basename(found))

    async def _ask(self, pool: ThreadPoolExecutor, keeping: Keeping, asked: Asked) -> dict[str, Any]:
        if self._waiting >= MOST_WAITING:
            raise Refusal("busy", f"{self._waiting} searches wait already; ask again later")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, keeping.find, asked)
        except Stopped:
            raise Refusal("stopping", "the daemon is stopping; ask again") from None
        finally:
            self._waiting -= 1

    def _keep(self, log: Callable[[str], None]) -> None:
        load = Load()
        postponed = 0.0
        while not self._over.is_set():
            worked = 0.0
            if load.busy and postponed < POSTPONED_SECONDS:
                postponed += LOOK_SECONDS
            else:
                postponed = 0.0
                worked = sum(self._kept_in_step(keeping, load, log) for keeping in list(self._kept))
            self._over.wait(max(LOOK_SECONDS, worked * (1 / load.share() - 1)))

    def _kept_in_step(self, keeping: Keeping, load: Load, log: Callable[[str], None]) -> float:
        try:
            return keeping.keep(load.share)
        except (DibsError, Stopped):
            return 0.0  # whoever asks is told
        except Exception as error:  # it must not end the thread, and somebody should know
            log(f"a search index is not kept in step: {error!r}")
            return 0.0

    def stop(self) -> None:
        self._over.set()
        for keeping in self._all:
            keeping.stop()

    def close(self) -> None:
        self.stop()
        for pool in self._pools:
            pool.shutdown()
        if self._thread is not None:
            self._thread.join()
        for keeping in self._all:
            keeping.close()


async def _refuse(error: DibsError, asked: Asked) -> dict[str, Any]:
    raise error
