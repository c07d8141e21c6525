"""The queues that are served, whichever door a request comes in by, and what runs beside them."""

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Protocol

from dibs.clock import SYSTEM, Clock
from dibs.serve.arriving import AGAIN_SECONDS, opened
from dibs.serve.counter import Counter
from dibs.serve.desk import Desk
from dibs.serve.journal import Journal
from dibs.serve.logs import Log
from dibs.serve.masking import Masking
from dibs.serve.metrics import Metrics
from dibs.serve.refusal import Refusal
from dibs.serve.remembered import Remembered
from dibs.serve.sessions import GRACE_SECONDS
from dibs.serve.threads import share

LOOK_SECONDS = 1.0


class Beside(Protocol):
    """Something that runs for as long as the daemon does: a watcher, a sampler."""

    async def start(self, house: "House") -> None:
        """In the event loop, before the first request. It must not block: what is long goes to a thread."""

    def join(self, house: "House", counter: Counter) -> None:
        """In the event loop: a queue that could not be reached at the start is there now."""

    def stop(self) -> None:
        """In the event loop, when the daemon begins to stop. Called more than once."""

    def close(self) -> None:
        """When nothing runs any more: the last thing."""


class House:
    def __init__(
        self,
        desks: Iterable[Desk],
        *,
        grace: float = GRACE_SECONDS,
        clock: Clock = SYSTEM,
        log: Callable[[str], None] = lambda _: None,
        beside: Iterable[Beside] = (),
        journals: Callable[[Desk], Journal | None] = lambda _: None,
    ) -> None:
        """What the dashboard is told to hide is hidden in every list."""
        given = list(desks)
        self.beside = list(beside)
        self._mask = Masking(name for one in self.beside for name in getattr(one, "mask", ()))
        self.log = log if isinstance(log, Log) else Log(log, level="warning")
        self.absent = opened(given)  # what is to be served and cannot be reached
        self._threads = share(len(given))
        self._grace = grace
        self.counters = {desk.name: self._counter(desk) for desk in given if desk.name not in self.absent}
        self.remembered = Remembered(clock)
        self.clock = clock
        self.metrics = Metrics()
        self.seen: dict[str, Any] = {}  # what places know from the request before
        self.stopping = False
        self._journals = journals
        self._looking: asyncio.Task[None] | None = None

    def _counter(self, desk: Desk) -> Counter:
        desk.mask = self._mask
        counter = Counter(desk, self._threads, self._grace)
        counter.sessions.dropped = partial(self._dropped, desk.name)
        counter.health.told = partial(self._told, counter)
        return counter

    def _dropped(self, queue: str, worker: str) -> None:
        self.metrics.count("dibs_sessions_dropped_total", queue)
        self.log.note("warning", "session dropped", queue=queue, worker=worker)

    def _told(self, counter: Counter, why: str) -> None:
        if not why:
            self.log.note("info", "queue answers again", queue=counter.desk.name)
            return
        self.log.note("warning", "queue silent", queue=counter.desk.name, why=why)
        counter.silent()

    @property
    def names(self) -> list[str]:
        """Of all that is to be served."""
        return sorted([*self.counters, *self.absent])

    def counter(self, name: str) -> Counter:
        """Raises a Refusal when it is not served, or not there."""
        found = self.counters.get(name)
        if found is not None:
            return found
        if name in self.absent:
            raise self.absent[name].refusal()
        raise Refusal("no-queue", f"queue {name[:80]!r} is not served here; served: {', '.join(self.names)}")

    def silent(self) -> dict[str, Refusal]:
        """The queues that do not answer now, and what is said to whoever asks."""
        return {name: one.health.refusal() for name, one in self.counters.items() if one.health.why}

    async def start(self) -> None:
        for counter in self.counters.values():
            self._keep(counter)
        for one in self.beside:
            await one.start(self)
        for name, missing in self.absent.items():
            self.log.note("warning", "queue unavailable", queue=name, why=missing.why)
        self._looking = asyncio.get_running_loop().create_task(self._look())

    def _keep(self, counter: Counter) -> None:
        if (journal := self._journals(counter.desk)) is not None:
            counter.keep(journal)

    async def _look(self) -> None:
        turn = 0
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            for counter in self.counters.values():
                counter.look()
            turn += 1
            if turn * LOOK_SECONDS >= AGAIN_SECONDS:
                turn = 0
                for name, missing in list(self.absent.items()):
                    if missing.again():
                        self._join(self.absent.pop(name).desk)

    def _join(self, desk: Desk) -> None:
        """It can be reached at last."""
        self.log.note("info", "queue there", queue=desk.name)
        self.counters[desk.name] = counter = self._counter(desk)
        self._keep(counter)
        for one in self.beside:
            one.join(self, counter)

    def stop(self) -> None:
        """Whoever waits is told to ask again; sessions end without anything being given back."""
        self.stopping = True
        if self._looking is not None:
            self._looking.cancel()
        for one in self.beside:
            one.stop()
        for counter in self.counters.values():
            counter.stop()

    def close(self) -> None:
        for counter in self.counters.values():
            counter.threads.close()
        for one in self.beside:
            one.close()
        for counter in self.counters.values():
            counter.close()
        for missing in self.absent.values():
            missing.close()
