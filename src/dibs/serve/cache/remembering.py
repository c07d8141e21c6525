"""Beside the daemon: remembers what its queues show, from the start to the end."""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from dibs.errors import DibsError
from dibs.serve.cache.looking import Looking, looking
from dibs.serve.cache.specs import KnownSpecs
from dibs.serve.cache.watching import Watcher
from dibs.states import TERMINAL

if TYPE_CHECKING:
    from dibs.serve.counter import Counter
    from dibs.serve.house import House


class Remembering:
    def __init__(self) -> None:
        self.watchers: list[Watcher] = []
        self._warming: list[threading.Thread] = []

    async def start(self, house: "House") -> None:
        for counter in house.counters.values():
            self.join(house, counter)

    def join(self, house: "House", counter: "Counter") -> None:
        desk = counter.desk
        desk.look = look = looking(desk.queue)
        if look is desk.queue:
            return
        if isinstance(look, KnownSpecs):
            self._watch(look, house.log)
        self._warming.append(threading.Thread(target=warm, args=(look,), name="dibs-warming", daemon=True))
        self._warming[-1].start()

    def _watch(self, look: KnownSpecs, log: Callable[[str], None]) -> None:
        watcher = Watcher(look.folder, look.files, log)
        self.watchers.append(watcher)
        watcher.start()

    def stop(self) -> None:
        for watcher in self.watchers:
            watcher.stop()

    def close(self) -> None:
        for watcher in self.watchers:
            watcher.join()
        for thread in self._warming:
            thread.join()


def warm(look: Looking) -> None:
    """What is looked at first, before anybody asks."""
    with suppress(DibsError):  # whoever asks is told
        look.stats()
        for _ in look.tasks(limit=100):
            pass
        for state in TERMINAL:
            for _ in look.newest(state, limit=1):
                pass
