"""A worker's side of keeping leases: each new handle is given to the guard before the work on it starts.

Many leases may share a handle; only a new one costs a message, and the guard's answer is waited for: from
then on the record names the guard, and nobody takes the task over before it has cleaned up. One that named it from
the start needs no beat before its time.
A handle that nothing hangs on any more is dropped when the next new one is given.

Where the guard can see by itself what is in hand (`dibs.worker.board`), such leases are only noted here: it takes up
those that last, and most end before that, without a message.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from dibs.queues.held import Lease
from dibs.queues.queue import Queue


class Keeping:
    """`send` passes a message to the guard; False when there is none. Messages from it go to `hear`."""

    def __init__(self, queue: Queue, send: Callable[[dict[str, Any]], bool]) -> None:
        self._queue = queue
        self._send = send
        self._changed = threading.Condition()
        self._leases: dict[str, dict[str, Lease]] = {}  # by handle, then by task
        self._kept: set[str] = set()
        self._asked: set[str] = set()
        self._handles: dict[int, str] = {}  # of each lease object
        self._over = False

    def hold(self, lease: Lease) -> bool:
        """True when the guard keeps it; False when it is lost, or there is no guard that answers in time."""
        with self._changed:
            if self._enter(lease) in self._kept:
                return True
        return bool(self.hold_all([lease]))

    def hold_all(self, leases: Sequence[Lease]) -> list[Lease]:
        """Those that the guard keeps."""
        with self._changed:
            named = {self._enter(lease): lease for lease in leases}
            known = self._kept | self._asked
            new = {handle: lease for handle, lease in named.items() if handle not in known}
            if new:
                self._ask(new)
            self._changed.wait_for(lambda: self._asked.isdisjoint(named) or self._over, leases[0].ttl / 2)
            return [lease for lease in leases if self._handles[id(lease)] in self._kept and not self._over]

    def note(self, lease: Lease) -> str:
        """It holds as it was claimed, and the guard can see it: nobody is told. Returns its handle."""
        with self._changed:
            return self._enter(lease)

    def drop(self, lease: Lease) -> None:
        with self._changed:
            handle = self._handles.pop(id(lease), None)
            leases = self._leases.get(handle or "")
            if leases is not None and leases.get(lease.id) is lease:
                del leases[lease.id]
                if not leases and handle not in self._kept:
                    del self._leases[handle or ""]

    def _enter(self, lease: Lease) -> str:
        handle = self._queue.handle(lease)
        self._handles[id(lease)] = handle
        self._leases.setdefault(handle, {})[lease.id] = lease
        return handle

    def hear(self, message: dict[str, Any]) -> list[Lease]:
        """Take a message from the guard; returns the leases that are lost by it."""
        if "kept" in message:
            self._answered(message["kept"])
        elif "lost" in message:
            return self._lose(message["lost"])
        elif "gone" in message:
            return self._lose_one(*message["gone"])
        return []

    def give_up(self) -> None:
        """There is no guard any more: leases hold until they run out, and no new one is kept."""
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def ask_again(self) -> None:
        """There is a new guard: give it everything that is held."""
        with self._changed:
            self._kept.clear()
            held = {handle: next(iter(leases.values())) for handle, leases in self._leases.items() if leases}
            if held:
                self._ask(held, vouched=False)

    @property
    def in_hand(self) -> list[Lease]:
        with self._changed:
            return [lease for leases in self._leases.values() for lease in leases.values()]

    def _ask(self, new: dict[str, Lease], *, vouched: bool = True) -> None:
        idle = self._idle()
        self._asked.update(new)
        holds = [[handle, lease.ttl, self._queue.vouched(lease) if vouched else None] for handle, lease in new.items()]
        if not self._send({"hold": holds, "drop": idle}):
            self._over = True

    def _idle(self) -> list[str]:
        """Handles that nothing hangs on any more, forgotten here."""
        idle = [known for known in self._kept if not self._leases.get(known)]
        self._kept.difference_update(idle)
        for known in idle:
            self._leases.pop(known, None)
        return idle

    def _answered(self, answers: list[tuple[str, float | None]]) -> None:
        with self._changed:
            for handle, until in answers:
                self._asked.discard(handle)
                if until is not None:
                    self._kept.add(handle)
            self._changed.notify_all()

    def _lose_one(self, task_id: str, epoch: int) -> list[Lease]:
        """One lease is gone though its handle is kept: the task was cancelled."""
        leases = [lease for lease in self.in_hand if (lease.id, lease.epoch) == (task_id, epoch)]
        for lease in leases:
            if lease.state == "held":
                lease.state = "lost"
        return leases

    def _lose(self, handle: str) -> list[Lease]:
        with self._changed:
            self._kept.discard(handle)
            leases = list(self._leases.pop(handle, {}).values())
        for lease in leases:
            if lease.state == "held":
                lease.state = "lost"
        return leases
