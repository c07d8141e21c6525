"""What is read and listed after a write, by another process."""

from collections.abc import Iterator

from dibs.doctor.buckets.ground import Ground
from dibs.doctor.finding import Finding, Level

PATIENCE_SECONDS = 12.0
LEAST_PATIENCE_SECONDS = 6.0
SLOW_SECONDS = 1.0


def check(ground: Ground) -> Iterator[Finding]:
    times = 3 if ground.quick else 8
    looks = 2 if ground.quick else 3
    for number in range(looks):
        ground.written(f"after/list/old-{number}", "x")  # which are listed by the time they are deleted
    old = read = 0
    for number in range(times):
        for body in ("one\n", "two\n"):
            if ground.written("after/read", f"{number} {body}"):
                read += 1
                old += ground.crew.one(number % 2, "read", key="after/read") != f"{number} {body}"
    yield _read(read, old)
    patience = max(LEAST_PATIENCE_SECONDS, min(PATIENCE_SECONDS, ground.left()))
    made: list[float | None] = []
    gone: list[float | None] = []
    for number in range(looks):
        new, past = f"after/list/new-{number}", f"after/list/old-{number}"
        ground.written(new, "x")
        ground.bucket.delete(past)
        ground.crew.tell(0, "listed", key=new, there=True, patience=patience)
        ground.crew.tell(1, "listed", key=past, there=False, patience=patience)
        made.append(ground.crew.hear(0))
        gone.append(ground.crew.hear(1))
        if _worst([*made, *gone], patience) >= SLOW_SECONDS:
            break  # that it lags is known, and each further look takes as long
    yield _listed("listing new objects", made, patience)
    yield _listed("listing deleted objects", gone, patience)


def _read(times: int, old: int) -> Finding:
    if not old:
        return Finding(check="reading after writing", tried=f"{times} times", happened="the new value each time")
    words = f"{old} reads gave an old value: claims are refused that need not be, results are seen late"
    remedy = "switch caching off in what stands between"
    return Finding(
        check="reading after writing", tried=f"{times} times", happened=words, level=Level.WARNING, remedy=remedy
    )


def _worst(lags: list[float | None], patience: float) -> float:
    return max(patience if one is None else one for one in lags)


def _listed(check: str, lags: list[float | None], patience: float) -> Finding:
    lag = _worst(lags, patience)
    tried = "once" if len(lags) == 1 else f"{len(lags)} times"
    if lag < SLOW_SECONDS:
        return Finding(check=check, tried=tried, happened=f"at once ({lag * 1000:.0f} ms)")
    least = "not within " if lag >= patience else "up to "
    words = f"it lags: {least}{lag:.1f} s late; dibs takes listings for hints, ready tasks are found later"
    remedy = "prefer a server whose listings are up to date (Amazon S3's are)"
    return Finding(check=check, tried=tried, happened=words, level=Level.WARNING, remedy=remedy)
