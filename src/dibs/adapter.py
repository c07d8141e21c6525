"""push, poll, ack, nack: a queue under the names that other systems use.

For code that was written against such an interface. A receipt names the lease (`id:epoch`), so a
message may be acknowledged by another process than the one that polled it. The guarantees are
those of the queue: an acknowledgement that comes after somebody else got the message is refused with LeaseLost.
"""

from dataclasses import dataclass
from typing import Any

from dibs.errors import BadInput
from dibs.queues import open_queue
from dibs.queues.held import Lease
from dibs.queues.queue import DEFAULT_TTL, Queue
from dibs.states import State


@dataclass(frozen=True, slots=True)
class Message:
    """A task in the hands of a consumer."""

    id: str
    body: Any
    receipt: str
    attempt: int
    lease: Lease


class Adapter:
    """Open with a URL or a queue. `visibility` is the lease's TTL in seconds: ack, nack or heartbeat before it ends."""

    def __init__(self, queue: str | Queue, *, visibility: float = DEFAULT_TTL) -> None:
        self.queue = open_queue(queue) if isinstance(queue, str) else queue
        self._visibility = visibility
        self._held: dict[str, Lease] = {}

    def push(self, body: Any, **options: Any) -> str:
        """Add a message; returns its id. Options are those of `Queue.push`."""
        return self.queue.push(body, **options).id

    def poll(self, *, wait: float | None = 0.0, **filters: Any) -> Message | None:
        """The next message, or None when there is none for `wait` seconds."""
        lease = self.queue.claim(ttl=self._visibility, wait=wait, **filters)
        if lease is None:
            return None
        receipt = f"{lease.id}:{lease.epoch}"
        self._held[receipt] = lease
        return Message(lease.id, lease.payload, receipt, lease.task.attempts + 1, lease)

    def ack(self, message: Message | str, result: Any = None) -> None:
        """Done with it."""
        self._take(message).complete(result)

    def nack(self, message: Message | str, *, requeue: bool = True, delay: float = 0.0, error: str = "") -> None:
        """Not done. With `requeue` it comes back after `delay`, and counts as a failed attempt only if there is
        an `error` (then the task's own backoff applies); without, it is dead-lettered."""
        lease = self._take(message)
        if not requeue:
            lease.fail(error or "rejected", retry=False)
        elif error:
            lease.fail(error)
        else:
            lease.release(delay)

    def heartbeat(self, message: Message | str) -> None:
        """Keep it for another visibility period from now."""
        self._find(message).renew()

    def list_claimed(self) -> list[dict[str, Any]]:
        """Who holds what now, as JSON values."""
        return [claim.to_json() for claim in self.queue.claimed()]

    def size(self) -> int:
        """How many messages could be polled now."""
        return self.queue.stats().states.get(State.READY, 0)

    def close(self) -> None:
        self.queue.close()

    def _take(self, message: Message | str) -> Lease:
        lease = self._find(message)
        self._held.pop(f"{lease.id}:{lease.epoch}", None)
        return lease

    def _find(self, message: Message | str) -> Lease:
        if isinstance(message, Message):
            return message.lease
        if message in self._held:
            return self._held[message]
        task_id, _, epoch = message.rpartition(":")
        if not task_id or not epoch.isdigit():
            raise BadInput(f"receipt {message!r} is not acceptable; use the one that poll gave")
        return self.queue.lease(task_id, int(epoch))
