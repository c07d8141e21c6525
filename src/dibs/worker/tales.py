"""What a runner tells of its tasks: failures and refusals always, the rest when asked; some ten messages a second."""

import select
import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

from dibs.clock import Clock
from dibs.queues.channel import Channel, Message
from dibs.queues.held import Lease

EVENTS = ("completed", "failed", "lost")
_PAUSE_SECONDS = 0.1
_FLUSH_SECONDS = 0.25
_ERROR_CHARACTERS = 500
_MOST = 100  # failures kept between two messages


class Tales:
    def __init__(self, channel: Channel, clock: Clock, *, every: bool) -> None:
        self._channel = channel
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting: deque[dict[str, Any]] = deque(maxlen=None if every else _MOST)
        self._sent_at = float("-inf")

    def tell(self, lease: Lease, how: int | None, error: str, seconds: float) -> None:
        event: dict[str, Any] = {
            "event": "released" if how is None else EVENTS[how],
            "id": lease.id,
            "epoch": lease.epoch,
            "seconds": round(seconds, 3),
        }
        if lease.task.key is not None:
            event["key"] = lease.task.key
        if error:
            event["error"] = error[:_ERROR_CHARACTERS]
        with self._lock:
            self._waiting.append(event)
            if self._clock.boottime() - self._sent_at >= _PAUSE_SECONDS:
                self._send()

    def flush(self) -> None:
        if self._waiting:
            with self._lock:
                self._send()

    def between(self, channel: Channel, pause: float) -> Iterator[Message]:
        """Messages to this side, as they arrive; an empty one in the pauses, when what waits to be told goes out."""
        while True:
            if not channel.waiting and not select.select([channel], [], [], min(pause, _FLUSH_SECONDS))[0]:
                self.flush()
                yield {}
                continue
            received = channel.receive()
            if received is None:
                return
            yield from received

    def _send(self) -> None:
        events, self._waiting = self._waiting, deque(maxlen=self._waiting.maxlen)
        if events and self._channel.send({"events": list(events)}):
            self._sent_at = self._clock.boottime()
