"""Telling those who wait that something was pushed, but not with every push: commits that tell anything wait in line.

The first push tells at once, within its own statement. Of those that follow within a moment the last is told of
by a statement of its own, after it was committed.
"""

import os
import threading
from contextlib import suppress

from dibs.clock import Clock
from dibs.errors import DibsError
from dibs.queues.postgres.database import Database

MOMENT_SECONDS = 0.05


class Telling:
    """Safe for threads."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._lock = threading.Lock()
        self._told = float("-inf")
        self._later: threading.Timer | None = None
        self._pid = os.getpid()

    def now(self) -> bool:
        """Whether the push that is about to be sent tells of itself; if not, `after` must be called behind it."""
        now = self._clock.boottime()
        with self._lock:
            if now - self._told < MOMENT_SECONDS:
                return False
            self._told = now
            return True

    def after(self) -> None:
        with self._lock:
            if self._later is None or self._pid != os.getpid():
                self._pid = os.getpid()
                self._later = threading.Timer(MOMENT_SECONDS, self.flush)
                self._later.daemon = True
                self._later.start()

    def flush(self) -> None:
        """Tell what is still to be told."""
        with self._lock:
            later, self._later = self._later, None
            self._told = self._clock.boottime()
        if later is not None and self._pid == os.getpid():
            later.cancel()
            with suppress(DibsError):  # who waits looks by itself, a little later
                self._database.once("tell", word="")
