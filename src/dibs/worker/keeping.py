"""A runner's side of keeping leases: each new handle is given to the guard before its task starts.

Many leases may share a handle; only a new one costs a message, and the guard's answer is waited for: from
then on the record names the guard, and nobody takes the task over before it has cleaned up.
A handle that nothing hangs on any more is dropped when the next new one is given.
"""

import threading

from dibs.queues.held import Lease
from dibs.queues.queue import Queue
from dibs.worker.channel import Channel


class Keeping:
    def __init__(self, queue: Queue, channel: Channel) -> None:
        self._queue = queue
        self._channel = channel
        self._changed = threading.Condition()
        self._leases: dict[str, dict[str, Lease]] = {}  # by handle, then by task
        self._kept: set[str] = set()
        self._asked: set[str] = set()
        self._over = False

    def hold(self, lease: Lease) -> bool:
        """True when the guard keeps it; False when it is lost or there is no guard."""
        handle = self._queue.handle(lease)
        with self._changed:
            self._leases.setdefault(handle, {})[lease.id] = lease
            if handle in self._kept:
                return True
            if handle not in self._asked:
                self._ask(handle, lease.ttl)
            while handle in self._asked and not self._over:
                self._changed.wait()
            return handle in self._kept and not self._over

    def drop(self, lease: Lease) -> None:
        with self._changed:
            for leases in self._leases.values():
                if leases.get(lease.id) is lease:
                    del leases[lease.id]
                    return

    def answered(self, handle: str, until: float | None) -> None:
        with self._changed:
            self._asked.discard(handle)
            if until is not None:
                self._kept.add(handle)
            self._changed.notify_all()

    def lose(self, handle: str) -> list[Lease]:
        """The handle is dead: its leases are lost."""
        with self._changed:
            self._kept.discard(handle)
            leases = list(self._leases.pop(handle, {}).values())
        for lease in leases:
            if lease.state == "held":
                lease.state = "lost"
        return leases

    def give_up(self) -> None:
        """There is no guard any more."""
        with self._changed:
            self._over = True
            self._changed.notify_all()

    @property
    def in_hand(self) -> bool:
        with self._changed:
            return any(self._leases.values())

    def _ask(self, handle: str, ttl: float) -> None:
        idle = [known for known in self._kept if not self._leases.get(known)]
        self._kept.difference_update(idle)
        for known in idle:
            self._leases.pop(known, None)
        self._asked.add(handle)
        if not self._channel.send({"hold": handle, "ttl": ttl, "drop": idle}):
            self._over = True
