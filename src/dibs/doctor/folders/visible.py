"""How long until others see a new file, a deleted one, and a new time stamp."""

import os
from collections.abc import Iterator

from dibs.doctor.finding import Finding, Level
from dibs.doctor.folders.ground import Ground
from dibs.doctor.folders.times import COARSE_SECONDS, until_new

PATIENCE_SECONDS = 12.0
SLOW_SECONDS = 0.5  # on one host others see it at once; from here on it is the storage that is late
_WAYS = (("listing", True), ("looking up", False))


def check(ground: Ground) -> Iterator[Finding]:
    folder = ground.sub("visible")
    times = 2 if ground.quick else 4
    for way, listed in _WAYS:
        made, gone = [], []
        for number in range(times):
            name = f"visible/{way[0]}{number}"
            made.append(_lag(ground, name, there=True, listed=listed))
            gone.append(_lag(ground, name, there=False, listed=listed))
            if max(worst(made), worst(gone)) >= SLOW_SECONDS:
                break  # that it lags is known, and each further look takes as long
        name = f"{way.replace(' ', '_')}_lag_seconds"
        ground.figures[name] = round(max(worst(made), worst(gone), ground.figures.get(name, 0.0)), 3)
        yield judged(f"{way} new files", len(made), worst(made))
        yield judged(f"{way} deleted files", len(gone), worst(gone))
    if ground.stamps_go:
        yield _touched(ground, f"{folder}/touched")


def _lag(ground: Ground, name: str, *, there: bool, listed: bool) -> float | None:
    """Of the slowest of two others; None: not within patience."""
    for member in (0, 1):
        ground.crew.tell(member, "see", name=name, there=there, patience=PATIENCE_SECONDS, listed=listed)
    ground.clock.sleep(0.02)  # so that they have looked once and may remember what they saw
    path = f"{ground.folder}/{name}"
    if there:
        ground.write(path)
    else:
        os.unlink(path)
    since = ground.clock.boottime()
    seen = [ground.crew.hear(member, PATIENCE_SECONDS * 3) for member in (0, 1)]
    return None if None in seen else max(0.0, max(seen) - since)


def _touched(ground: Ground, path: str) -> Finding:
    ground.write(path)
    before = os.stat(path).st_mtime
    ground.crew.tell(0, "see_time", name="visible/touched", after=before, patience=PATIENCE_SECONDS)
    ground.clock.sleep(1.1)  # whole seconds are all that some keep
    until_new(lambda: _now(path), before, ground.clock, ground.clock.boottime() + COARSE_SECONDS)
    since = ground.clock.boottime()
    seen = ground.crew.hear(0, PATIENCE_SECONDS * 3)
    lag = PATIENCE_SECONDS if seen is None else max(0.0, seen - since)
    return judged("seeing time stamps", 1, lag)


def _now(path: str) -> float:
    os.utime(path)
    return os.stat(path).st_mtime


def worst(lags: list[float | None]) -> float:
    return max(PATIENCE_SECONDS if lag is None else lag for lag in lags)


def judged(check: str, times: int, lag: float, *, where: str = "", far: bool = False) -> Finding:
    tried = f"{'once' if times == 1 else f'{times} times'}, by other processes{where}"
    if lag < SLOW_SECONDS:
        return Finding(check=check, tried=tried, happened=f"at once ({lag * 1000:.0f} ms)")
    if lag >= PATIENCE_SECONDS:
        words = f"not seen within {PATIENCE_SECONDS:g} s: a worker that lives could be taken for dead"
        remedy = "mount it with shorter caching (NFS: actimeo=1), or use another place"
        return Finding(
            check=check, tried=tried, happened=words, level=Level.ONE_HOST if far else Level.BAD, remedy=remedy
        )
    words = f"it lags: up to {lag:.1f} s late; dibs takes it for a hint, idle workers notice later"
    return Finding(check=check, tried=tried, happened=words, level=Level.WARNING, remedy=ttl_for(lag))


def ttl_for(lag: float) -> str:
    return f"give workers a --ttl of {max(20, round(lag * 10)):d}s or more"
