"""Waiting for somebody else, a little longer each time."""

from dibs.clock import Clock

LONGEST_PAUSE = 0.25


class Patience:
    """How long one asker has waited, and for what."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._pause = 0.002
        self._what = ""
        self._since = 0.0

    def wait(self) -> None:
        self._clock.sleep(self._pause)
        self._pause = min(self._pause * 2, LONGEST_PAUSE)

    def spent_on(self, what: str) -> float:
        now = self._clock.boottime()
        if what != self._what:
            self._what, self._since = what, now
        return now - self._since
