"""The queues that are served, whichever door a request comes in by, and what runs beside them."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Protocol

from dibs.clock import SYSTEM, Clock
from dibs.serve.counter import THREADS, Counter
from dibs.serve.desk import Desk
from dibs.serve.logs import Log
from dibs.serve.metrics import Metrics
from dibs.serve.remembered import Remembered
from dibs.serve.sessions import GRACE_SECONDS


class Beside(Protocol):
    """Something that runs for as long as the daemon does: a watcher, a sampler."""

    async def start(self, house: "House") -> None:
        """In the event loop, before the first request. It must not block: what is long goes to a thread."""

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
    ) -> None:
        self.pool = ThreadPoolExecutor(THREADS, thread_name_prefix="dibs-serve")
        self.counters = {desk.name: Counter(desk, self.pool, grace) for desk in desks}
        for counter in self.counters.values():
            counter.sessions.dropped = partial(self._dropped, counter.desk.name)
        self.remembered = Remembered(clock)
        self.clock = clock
        self.log = log if isinstance(log, Log) else Log(log, level="warning")
        self.metrics = Metrics()
        self.seen: dict[str, Any] = {}  # what places know from the request before
        self.stopping = False
        self.beside = list(beside)

    def _dropped(self, queue: str, worker: str) -> None:
        self.metrics.count("dibs_sessions_dropped_total", queue)
        self.log.note("warning", "session dropped", queue=queue, worker=worker)

    async def start(self) -> None:
        for one in self.beside:
            await one.start(self)

    def stop(self) -> None:
        """Whoever waits is told to ask again; sessions end without anything being given back."""
        self.stopping = True
        for one in self.beside:
            one.stop()
        for counter in self.counters.values():
            counter.stop()

    def close(self) -> None:
        self.pool.shutdown()
        for one in self.beside:
            one.close()
        for counter in self.counters.values():
            counter.desk.close()
