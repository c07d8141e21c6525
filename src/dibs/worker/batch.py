"""Tasks that were claimed together and are to be completed together: for those that take milliseconds.

What has been run is recorded after FLUSH_SECONDS, and by whoever runs the batch when the last is done. Should one take
long, `unload`, called by another thread, records what is done and gives back what has not begun: nothing waits behind
it.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from dibs.clock import Clock
from dibs.errors import LeaseLost, StorageError
from dibs.queues.held import Lease
from dibs.queues.queue import Queue
from dibs.task import encode

FLUSH_SECONDS = 0.2
LONG_SECONDS = 1.0


class Batch:
    def __init__(self, queue: Queue, leases: Iterable[Lease]) -> None:
        self._queue = queue
        self._clock: Clock = queue.clock
        self._lock = threading.Lock()
        self._waiting = deque(leases)
        self._done: list[Lease] = []
        self._since = self._clock.boottime()  # that nothing was recorded, or the task in hand runs
        self.ended: list[Lease] = []  # completed, lost, or given back: whoever runs the batch takes them from here

    def next(self) -> Lease | None:
        """The next to run, if there is one."""
        with self._lock:
            while self._waiting:
                lease = self._waiting.popleft()
                if lease.held:
                    return lease
                lease.state = "lost"
                self.ended.append(lease)
        return None

    def done(self, lease: Lease, result: Any) -> None:
        """BadInput when the result cannot be kept."""
        if result is not None:
            encode(result)
        lease.result = result
        with self._lock:
            self._done.append(lease)
            if not self._waiting or self._clock.boottime() - self._since < FLUSH_SECONDS:
                return
        self.record()

    def record(self, following: Callable[[list[Lease]], list[Lease]] | None = None) -> list[Lease]:
        """Complete what is done, and by the same step, if it is given, claim what is returned. Raises StorageError, and
        may be tried again."""
        claimed: list[Lease] = []
        with self._lock:
            if self._done:
                if following is None:
                    self._queue.complete_many(self._done)
                else:
                    claimed = following(self._done)
                self.ended += self._done
                self._done = []
            self._since = self._clock.boottime()
        return claimed

    def lose(self) -> None:
        """What is done cannot be recorded any more."""
        with self._lock:
            for lease in self._done:
                lease.state = "lost"
            self.ended += self._done
            self._done = []

    def give_back(self) -> None:
        with self._lock:
            while self._waiting:
                lease = self._waiting.pop()
                with suppress(LeaseLost, StorageError):  # else it runs out by itself
                    lease.release()
                self.ended.append(lease)

    def unload(self) -> None:
        """From another thread: if the one in hand takes long, keep nothing else because of it."""
        if self._clock.boottime() - self._since >= LONG_SECONDS:
            with suppress(StorageError):
                self.record()
            self.give_back()
