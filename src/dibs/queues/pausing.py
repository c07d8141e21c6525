"""Pause and resume, for queues over a store: while the key `paused` is there nothing is claimed."""

from contextlib import suppress

from dibs.clock import Clock
from dibs.errors import BadInput
from dibs.stores import settle
from dibs.stores.store import Changed, Exists, Store
from dibs.task import decode, encode

NAME = "paused"


class Pausing:
    def __init__(self, store: Store, clock: Clock, *, fresh_seconds: float) -> None:
        self._store = store
        self._clock = clock
        self._fresh = fresh_seconds
        self._seen: tuple[float, str | None] = (float("-inf"), None)

    def pause(self, reason: str) -> None:
        body = encode({"reason": reason, "at": round(self._clock.wall(), 3)})
        self._forget()
        try:
            settle.create(self._store, NAME, body)
        except Exists:
            entry = self._store.get(NAME)
            with suppress(Changed):  # then somebody else pauses or resumes it at this moment
                settle.replace(self._store, NAME, body, entry.version if entry else "")

    def resume(self) -> None:
        self._forget()
        self._store.delete(NAME)

    def reason(self) -> str | None:
        """None when it is not paused."""
        entry = self._store.get(NAME)
        try:
            return None if entry is None else str(decode(entry.data)["reason"])
        except (BadInput, KeyError, TypeError):
            return ""

    def seen(self) -> bool:
        """As of a moment ago: a claimer does not ask every time."""
        now = self._clock.boottime()
        if now - self._seen[0] >= self._fresh:
            self._seen = (now, self.reason())
        return self._seen[1] is not None

    def _forget(self) -> None:
        self._seen = (float("-inf"), None)
