"""How much of the time the index may use in the background: little while the daemon has other things to do."""

import os

from dibs.clock import SYSTEM, Clock

CALM, BUSY = 0.2, 0.03
BUSY_FROM = 0.4  # of a processor
LOOK_SECONDS = 0.5


class Load:
    """Of this process. Busy until a look has shown that it is not."""

    def __init__(self, clock: Clock = SYSTEM) -> None:
        self._clock = clock
        self._looked, self._used = clock.boottime(), _used()
        self._busy = True

    @property
    def busy(self) -> bool:
        """By what was used since the last look."""
        now = self._clock.boottime()
        passed = now - self._looked
        if passed >= LOOK_SECONDS:
            used = _used()
            self._busy = (used - self._used) / passed > BUSY_FROM
            self._looked, self._used = now, used
        return self._busy

    def share(self) -> float:
        return BUSY if self.busy else CALM


def _used() -> float:
    spent = os.times()
    return spent.user + spent.system
