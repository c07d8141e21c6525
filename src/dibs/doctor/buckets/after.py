"""What is read and listed after a write, by another process."""

from collections.abc import Iterator

from dibs.doctor.buckets.ground import Ground
from dibs.doctor.finding import Finding, Level

PATIENCE_SECONDS = 12.0
SLOW_SECONDS = 1.0


def check(ground: Ground) -> Iterator[Finding]:
    times = 3 if ground.quick else 8
    old = 0
    for number in range(times):
        for body in ("one\n", "two\n"):
            if ground.written("after/read", f"{number} {body}"):
                old += ground.crew.one(number % 2, "read", key="after/read") != f"{number} {body}"
    yield _read(times * 2, old)
    made, gone = [], []
    for number in range(2 if ground.quick else 3):
        key = f"after/list/{number}"
        ground.written(key, "x")
        made.append(ground.crew.one(0, "listed", key=key, there=True, patience=PATIENCE_SECONDS))
        ground.bucket.delete(key)
        gone.append(ground.crew.one(1, "listed", key=key, there=False, patience=PATIENCE_SECONDS))
    yield _listed("listing new objects", made)
    yield _listed("listing deleted objects", gone)


def _read(times: int, old: int) -> Finding:
    if not old:
        return Finding(check="reading after writing", tried=f"{times} times", happened="the new value each time")
    words = f"{old} reads gave an old value: claims are refused that need not be, results are seen late"
    remedy = "switch caching off in what stands between"
    return Finding(
        check="reading after writing", tried=f"{times} times", happened=words, level=Level.WARNING, remedy=remedy
    )


def _listed(check: str, lags: list[float | None]) -> Finding:
    lag = max(PATIENCE_SECONDS if one is None else one for one in lags)
    tried = f"{len(lags)} times"
    if lag < SLOW_SECONDS:
        return Finding(check=check, tried=tried, happened=f"at once ({lag * 1000:.0f} ms)")
    least = "not within " if lag >= PATIENCE_SECONDS else "up to "
    words = f"it lags: {least}{lag:.1f} s late; dibs takes listings for hints, ready tasks are found later"
    remedy = "prefer a server whose listings are up to date (Amazon S3's are)"
    return Finding(check=check, tried=tried, happened=words, level=Level.WARNING, remedy=remedy)
