"""What `top` shows of each queue, and how it is found out: looks in threads of their own, so that one slow queue holds
up neither the others nor the keys."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import islice
from typing import Any

from dibs.clock import SYSTEM, Clock, iso
from dibs.errors import DibsError, StorageError, Unsupported
from dibs.queues.queue import Queue
from dibs.queues.views import Claim, Stats
from dibs.redact import redact
from dibs.states import State

_OLDEST_OF = 100
_SHORTEST = 0.05


class Seen:
    """One look at one queue."""

    def __init__(self, looker: Looker, before: Seen | None) -> None:
        self.name = looker.name
        self.url = redact(looker.url)
        self.error = ""
        self.stats = Stats(states={})
        self.claims: list[Claim] = []
        self.oldest: float | None = None
        self.taken = looker.clock.boottime()
        try:
            queue = looker.opened()
            self.stats = queue.stats()
            self.claims = sorted(queue.claimed(), key=lambda claim: claim.claimed_at)
            if self.count(State.READY):
                ready = islice(queue.tasks("ready", limit=_OLDEST_OF), _OLDEST_OF)
                since = min((at for task in ready if (at := task.not_before or task.pushed_at)), default=None)
                self.oldest = None if since is None else max(queue.store_time() - since, 0.0)
        except Unsupported:
            pass
        except DibsError as error:
            self.error = redact(str(error))
            if isinstance(error, StorageError):
                looker.close()
        self.pushed_rate = self._rate(before, lambda one: one.stats.total)
        self.ended_rate = self._rate(before, lambda one: one.count(State.COMPLETED) + one.count(State.FAILED))

    def count(self, state: State) -> int:
        return self.stats.states.get(state, 0)

    def _rate(self, before: Seen | None, number: Any) -> float | None:
        """A second, since the look before; None when there was none."""
        if before is None or before.error or self.error:
            return None
        return max(float(number(self) - number(before)), 0.0) / max(self.taken - before.taken, _SHORTEST)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "url": self.url,
            "error": self.error or None,
            "states": {str(state): number for state, number in self.stats.states.items()},
            "paused": self.stats.paused,
            "workers": self.stats.workers,
            "pushed_per_second": self.pushed_rate,
            "ended_per_second": self.ended_rate,
            "oldest_ready_seconds": self.oldest,
            "claims": [claim.to_json() for claim in self.claims],
        }


def snapshot(seen: list[Seen], clock: Clock) -> dict[str, Any]:
    return {"at": iso(clock.wall()), "queues": [one.to_json() for one in seen]}


class Looker:
    """Looks at one queue again and again, in a thread; `seen` is the latest. One that cannot be reached is tried again
    with each look."""

    def __init__(
        self, name: str, url: str, opening: Callable[[], Queue], interval: float, clock: Clock = SYSTEM
    ) -> None:
        self.name = name
        self.url = url
        self.clock = clock
        self._opening = opening
        self._queue: Queue | None = None
        self.seen: Seen | None = None
        self._interval = interval
        self._again = threading.Event()
        self._over = False
        self._thread = threading.Thread(target=self._run, name=f"dibs-top-{name}", daemon=True)

    @property
    def queue(self) -> Queue:
        """StorageError when it is not open."""
        if self._queue is None:
            raise StorageError(self.seen.error if self.seen else f"{self.name} is not open yet; wait a moment")
        return self._queue

    def opened(self) -> Queue:
        if self._queue is None:
            self._queue = self._opening()
        return self._queue

    def close(self) -> None:
        """The next look opens it again: by another way, when it was behind a daemon that is gone."""
        queue, self._queue = self._queue, None
        if queue is not None:
            queue.close()

    def start(self) -> None:
        self._thread.start()

    def look(self) -> Seen:
        self.seen = Seen(self, self.seen)
        return self.seen

    def hurry(self) -> None:
        """Something was changed: look at once."""
        self._again.set()

    def stop(self) -> None:
        self._over = True
        self._again.set()

    def _run(self) -> None:
        while not self._over:
            self.look()
            self._again.wait(self._interval)
            self._again.clear()
