"""A clock that only moves when told to, so that tests of expiry and delays need no waiting."""

import threading

_STEP = 1e-6


class ManualClock:
    """Both clocks move together by `advance`; `step_wall` makes the wall clock alone jump, as NTP or a person may.

    Every look moves time by a microsecond, so that what is done later also has a later time. Safe for threads.
    """

    def __init__(self, wall: float = 1_800_000_000.0, boottime: float = 5_000.0) -> None:
        self._lock = threading.Lock()
        self._wall = wall
        self._boottime = boottime
        self.advanced = 0.0
        self.sleeps: list[float] = []

    def boottime(self) -> float:
        with self._lock:
            self._move(_STEP)
            return self._boottime

    def wall(self) -> float:
        with self._lock:
            self._move(_STEP)
            return self._wall

    def sleep(self, seconds: float) -> None:
        """Does not wait: the time simply has passed."""
        self.sleeps.append(seconds)
        self.advance(max(seconds, 0.0))

    def advance(self, seconds: float) -> None:
        with self._lock:
            self._move(seconds)

    def step_wall(self, seconds: float) -> None:
        with self._lock:
            self._wall += seconds

    def _move(self, seconds: float) -> None:
        self._wall += seconds
        self._boottime += seconds
        self.advanced += seconds
