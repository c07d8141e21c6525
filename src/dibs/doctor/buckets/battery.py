"""All checks of a bucket, one after the other."""

import random
from collections.abc import Callable, Iterator
from statistics import median

from dibs.clock import Clock
from dibs.doctor.buckets import after, conditions
from dibs.doctor.buckets.ground import Ground, prepared
from dibs.doctor.crowd import fed
from dibs.doctor.finding import Finding, Level
from dibs.doctor.folders.times import skewed
from dibs.doctor.report import Report
from dibs.errors import StorageError

REQUESTS = 5  # of a task that is pushed, claimed and completed


def examine_bucket(
    report: Report, url: str, clock: Clock, rng: random.Random, tell: Callable[[str], None], *, quick: bool
) -> None:
    report.kind = "bucket"
    checks: list[tuple[str, Callable[[Ground], Iterator[Finding]]]] = [
        ("conditional writes", conditions.check),
        ("reading and listing after writing", after.check),
        ("clock", _clock),
        ("pace", _pace),
    ]
    try:
        with prepared(url, clock, rng, quick=quick) as ground:
            for name, check in checks:
                tell(name)
                report.findings += check(ground)
                if any(one.level is Level.BAD for one in report.findings):
                    break  # no queue can be here, whatever else it does
            report.figures |= ground.figures
    except StorageError as error:
        report.findings.append(Finding(check="bucket", tried="begun", happened=str(error), level=Level.BAD))
    rate = report.figures.get("tasks_per_second")
    if rate:
        report.advice.append(
            f"feeds {fed(rate, 10)} workers whose tasks take 10 s each; a task costs {REQUESTS} requests "
            "(`dibs stats --cost`)"
        )


def _clock(ground: Ground) -> Iterator[Finding]:
    stamps, skews = [], []
    for number in range(2):
        ground.written(f"clock/{number}", "x")
        found = ground.bucket.get(f"clock/{number}")
        if found is not None:
            stamps.append(found.modified)
            skews.append(found.modified - ground.clock.wall())
    if not stamps:
        return
    whole = all(stamp == int(stamp) for stamp in stamps)
    shown = "whole seconds" if whole else "parts of seconds"
    yield Finding(check="LastModified", tried=f"{len(stamps)} objects", happened=shown)
    skew = median(skews) + (0.5 if whole else 0.0)
    ground.figures["clock_skew_seconds"] = round(skew, 1)
    yield skewed(skew, "store")
    yield Finding(
        check="conditional delete", tried="no", happened="dibs never relies on it: servers differ", level=Level.NOTE
    )


def _pace(ground: Ground) -> Iterator[Finding]:
    seconds = 0.5 if ground.quick else 2.0
    rate = sum(done / taken for done, taken in ground.crew.all("put", seconds=seconds))
    ground.figures |= {"puts_per_second": round(rate, 1), "tasks_per_second": round(rate / REQUESTS, 1)}
    words = f"{rate:,.0f} writes/s, one in {ground.figures['put_seconds'] * 1000:.0f} ms"
    yield Finding(check="pace", tried=f"{ground.crew.size} processes for {seconds:g} s", happened=words)
