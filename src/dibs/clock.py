"""The only module that reads a clock.

`boottime` never steps and runs on while the machine sleeps: leases are measured on it.
`wall` is for people (timestamps in records, `--at`) and never decides who holds a lease.
Both are parameters of everything above, so that a simulation can supply its own.
"""

import time
from functools import partial
from typing import Protocol

_BOOTTIME = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Clock(Protocol):
    def boottime(self) -> float:
        """Seconds since this machine booted, sleep included. Never steps."""
        ...

    def wall(self) -> float:
        """Seconds since 1970 by this host's clock, which may be wrong or step."""
        ...

    def sleep(self, seconds: float) -> None: ...


class SystemClock:
    boottime = staticmethod(partial(time.clock_gettime, _BOOTTIME))  # read several times for every task

    def wall(self) -> float:
        return time.time()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


SYSTEM = SystemClock()


def iso(seconds: float) -> str:
    """A wall time for people and records: 2026-11-15T20:34:05.123Z."""
    whole, milliseconds = divmod(round(seconds * 1000), 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{milliseconds:03d}Z"


def parse_time(text: str) -> float:
    """Seconds since 1970 from ISO 8601; without a zone it is this machine's local time."""
    from datetime import datetime

    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
