"""Time stamps: how fine they are, whether they go on, and how far the server's clock is from this host's."""

import os
from collections.abc import Callable, Iterator
from itertools import pairwise

from dibs.clock import Clock
from dibs.doctor.finding import Finding, Level
from dibs.doctor.folders.ground import Ground

SKEW_SECONDS = 2.0
_PAUSE_SECONDS = 1.1
COARSE_SECONDS = 4.5  # FAT keeps every second second
_STEPS = "time stamp steps"
_ELSEWHERE = "use another place, or mend the server's clock: schedules, retries and retention are counted on it"


def check(ground: Ground) -> Iterator[Finding]:
    path = ground.write(f"{ground.folder}/clock")
    stamps = [_touched(path) for _ in range(60)]
    start, before = ground.clock.boottime(), _touched(path)
    ground.clock.sleep(_PAUSE_SECONDS)
    after = until_new(lambda: _touched(path), before, ground.clock, start + COARSE_SECONDS)
    taken = ground.clock.boottime() - start
    ground.stamps_go = after != before
    yield _going(after - before, taken)
    yield _fine(sorted({*stamps, before, after}))
    skew = after - ground.clock.wall()
    ground.figures["clock_skew_seconds"] = round(skew, 3)
    yield skewed(skew)


def until_new(touch: Callable[[], float], before: float, clock: Clock, until: float) -> float:
    """The stamp that a touch left, the first that is not `before` any more; stamps may be of whole seconds, or two."""
    while (stamp := touch()) == before and clock.boottime() < until:
        clock.sleep(0.05)
    return stamp


def _touched(path: str) -> float:
    """As a beat and the file server's time are taken: touched, and asked through the same file."""
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.utime(descriptor)
        return os.fstat(descriptor).st_mtime
    finally:
        os.close(descriptor)


def _going(passed: float, taken: float) -> Finding:
    tried = f"touched twice, {taken:.1f} s apart"
    if passed <= 0:
        words = "the time stamp stands still: what is scheduled would never be due"
        return Finding(check="time stamps", tried=tried, happened=words, level=Level.BAD, remedy=_ELSEWHERE)
    if not taken - 1.1 <= passed <= 2 * taken + 2:
        words = f"it moved by {passed:.1f} s: the server's clock does not run evenly"
        return Finding(check="time stamps", tried=tried, happened=words, level=Level.BAD, remedy=_ELSEWHERE)
    return Finding(check="time stamps", tried=tried, happened="the time stamp goes on")


def _fine(stamps: list[float]) -> Finding:
    if len(stamps) < 2:
        return Finding(check=_STEPS, tried="one stamp", happened="not known: it stands still", level=Level.NOTE)
    least = min(later - earlier for earlier, later in pairwise(stamps))
    shown = f"{least * 1000:.0f} ms" if least >= 0.001 else "below 1 ms"
    level = Level.WARNING if least > 2.5 else Level.NOTE if least > 0.5 else Level.GOOD
    return Finding(check=_STEPS, tried=f"{len(stamps)} different ones", happened=shown, level=level)


def skewed(skew: float, whose: str = "file server") -> Finding:
    happened = f"the {whose}'s clock is {_long(abs(skew))} {'ahead of' if skew > 0 else 'behind'} this host's"
    if abs(skew) < SKEW_SECONDS:
        return Finding(check="clock", tried="compared with this host's", happened="agrees with this host's")
    remedy = "set both by NTP; leases do not depend on it, but times given with --at do"
    return Finding(
        check="clock", tried="compared with this host's", happened=happened, level=Level.WARNING, remedy=remedy
    )


def _long(seconds: float) -> str:
    for unit, size in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size or (unit == "h" and seconds >= 0.9 * size):
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"
