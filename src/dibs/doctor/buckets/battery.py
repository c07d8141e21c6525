"""All checks of a bucket, one after the other."""

import random
from collections.abc import Callable, Iterator

from dibs.clock import Clock
from dibs.doctor.buckets import after, answers, conditions, times
from dibs.doctor.buckets.acts import PACED, paced
from dibs.doctor.buckets.ground import Ground, prepared
from dibs.doctor.crowd import fed
from dibs.doctor.finding import Finding, Level, said
from dibs.doctor.report import Report
from dibs.errors import StorageError

REQUESTS = 5  # of a task that is pushed, claimed and completed


def examine_bucket(
    report: Report, url: str, clock: Clock, rng: random.Random, tell: Callable[[str], None], *, quick: bool
) -> None:
    report.kind = "bucket"
    checks: list[tuple[str, Callable[[Ground], Iterator[Finding]]]] = [
        ("conditional writes", conditions.check),
        ("answers", answers.check),
        ("reading and listing after writing", after.check),
        ("clock", times.check),
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
        if not report.findings:
            raise  # it is not there, or out of reach: nothing was found out about it
        happened, remedy = said(error)
        report.findings.append(
            Finding(check="bucket", tried="begun", happened=happened, level=Level.BAD, remedy=remedy)
        )
    rate = report.figures.get("tasks_per_second")
    if rate:
        report.advice.append(
            f"feeds {fed(rate, 10)} workers whose tasks take 10 s each; a task costs {REQUESTS} requests "
            "(`dibs stats --cost`)"
        )


def _pace(ground: Ground) -> Iterator[Finding]:
    seconds = 0.5 if ground.quick else 2.0
    ground.will_make(paced(me, number) for me in range(ground.crew.size) for number in range(PACED))
    rate = sum(done / taken for done, taken in ground.crew.all("put", seconds=seconds))
    ground.figures |= {"puts_per_second": round(rate, 1), "tasks_per_second": round(rate / REQUESTS, 1)}
    words = f"{rate:,.0f} writes/s, one in {ground.figures['put_seconds'] * 1000:.0f} ms"
    yield Finding(check="pace", tried=f"{ground.crew.size} processes for {seconds:g} s", happened=words)
