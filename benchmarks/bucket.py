"""Push + claim + read + complete of 200-byte tasks in a bucket: obstore's raw loop, dibs, and boto3, on one server.

Each with one and with sixteen requests at once. What is judged is the median of the ratios of each round, for the
contenders of a round run one right after the other. What dibs asks of the bucket is counted by its own meter.
"""

import json
import statistics
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from benchmarks.measure import Series, alternate, scratch
from benchmarks.objects import BucketContender, contenders, work
from benchmarks.objects.contender import measure
from benchmarks.objects.server import missing, seaweed
from benchmarks.payloads import payloads
from benchmarks.plan import Plan
from benchmarks.report import Outcome, Table, at_least, at_most, per_second, spread, times

CONCURRENCY = (1, 16)
BEATS_PER_HOUR = 240  # of one lease with the default TTL
KINDS = ("put", "get", "list", "delete")


@dataclass
class Found(Series):
    """`values`: push to completion, tasks/s."""

    pushes: list[float] = field(default_factory=list)
    drains: list[float] = field(default_factory=list)
    requests: Counter[str] = field(default_factory=Counter)

    def per_task(self, kind: str) -> float:
        return self.requests[kind] / (self.count * len(self.values)) if self.values else 0.0

    def to_json(self) -> dict[str, Any]:
        requests = {kind: self.per_task(kind) for kind in KINDS}
        return super().to_json() | {"pushes": self.pushes, "drains": self.drains, "requests_per_task": requests}


Results = dict[tuple[str, int], Found]


def run(plan: Plan) -> Outcome:
    outcome = Outcome("bucket")
    if reason := missing():
        outcome.missing.append(f"buckets: {reason}")
        return outcome
    folder = scratch(plan.folder)
    results: Results = {}
    worked = Series(count=plan.size.bucket_tasks)
    with seaweed(folder) as server:
        bucket = server.bucket()
        runs: dict[str, Callable[[], None]] = {}
        for concurrency in CONCURRENCY:
            count = plan.size.bucket_tasks // (3 if concurrency == 1 else 1)
            for contender in contenders(concurrency):
                if plan.wants(contender.name):
                    found = results[contender.name, concurrency] = Found(count=count)
                    one = partial(_one, type(contender), server, bucket, concurrency, found)
                    runs[f"bucket: {contender.name}, {concurrency} at once"] = one
        if plan.wants(work.NAME):
            runs[f"bucket: {work.NAME}"] = partial(_work, server, bucket, folder, worked)
        alternate(min(plan.rounds, plan.size.bucket_rounds), runs, plan.say)
        outcome.tables = [_table(concurrency, results, worked) for concurrency in CONCURRENCY]
        if ("dibs", CONCURRENCY[0]) in results:
            outcome.tables.append(_costs(results, server.url(bucket)))
    _check(results, worked, outcome)
    _judge(results, outcome)
    outcome.data = {f"{name}/{concurrency}": found.to_json() for (name, concurrency), found in results.items()}
    outcome.data[work.NAME] = worked.to_json()
    return outcome


def _documents(count: int) -> list[dict[str, Any]]:
    return [json.loads(data) for data in payloads(count)]


def _one(make: type[BucketContender], server: Any, bucket: str, concurrency: int, found: Found) -> None:
    if found.error:
        return
    try:
        ran = measure(make, server, bucket, _documents(found.count), concurrency)
    except Exception as error:  # a broken contender is a result, not the end of the run
        found.error = f"{make.name}: {type(error).__name__}: {error}"
        return
    found.values.append(found.count / ran.seconds)
    found.pushes.append(found.count / ran.push_seconds)
    found.drains.append(found.count / ran.drain_seconds)
    found.processor_us.append(ran.processor_seconds / found.count * 1e6)
    found.requests.update(ran.requests)
    seen = set(ran.seen)
    found.doubled += len(ran.seen) - len(seen)
    found.lost += found.count - len(seen)


def _work(server: Any, bucket: str, folder: str, worked: Series) -> None:
    if worked.error:
        return
    try:
        ran = work.drain(server, bucket, folder, _documents(worked.count), CONCURRENCY[-1])
    except RuntimeError as error:
        worked.error = f"{work.NAME}: {error}"
        return
    worked.values.append(ran.rate)
    worked.doubled += ran.doubled
    worked.lost += ran.lost


def _check(results: Results, worked: Series, outcome: Outcome) -> None:
    rows = [(f"{name}, {concurrency} at once", found) for (name, concurrency), found in results.items()]
    for name, series in [*rows, (work.NAME, worked)]:
        if series.error or series.doubled or series.lost:
            what = series.error or f"{series.doubled} tasks came twice, {series.lost} were lost"
            (outcome.faults if name.startswith("dibs") else outcome.missing).append(f"bucket: {name}: {what}")


def _ratio(results: Results, one: str, other: str, concurrency: int) -> float | None:
    """The median of the rounds' own ratios: the machine may be faster in one round than in the next."""
    ours, theirs = results.get((one, concurrency)), results.get((other, concurrency))
    if ours is None or theirs is None or not ours.values or len(ours.values) != len(theirs.values):
        return None
    return statistics.median(mine / yours for mine, yours in zip(ours.values, theirs.values, strict=True))


def _judge(results: Results, outcome: Outcome) -> None:
    for concurrency in CONCURRENCY:
        names = {contender.kind: contender.name for contender in contenders(concurrency)}
        for ours in [contender.name for contender in contenders(concurrency) if contender.kind == "dibs"]:
            for kind, what, wanted in (("peer", "boto3", 2.0), ("floor", "obstore's raw loop", 0.6)):
                found = _ratio(results, ours, names[kind], concurrency)
                outcome.goals.append(at_least(f"bucket, {ours}, {concurrency} at once, against {what}", found, wanted))
    dibs = results.get(("dibs", CONCURRENCY[-1]))
    paid = sum(dibs.per_task(kind) for kind in ("put", "get", "list")) if dibs and dibs.values else None
    outcome.goals.append(at_most("bucket, requests a task, unbatched", paid, 5.1, ""))


def _table(concurrency: int, results: Results, worked: Series) -> Table:
    count = next((found.count for (_, known), found in results.items() if known == concurrency), 0)
    table = Table(
        f"In a bucket, {concurrency} at once, {count:,} tasks of 200 bytes, tasks/s",
        ["", "push to completion", "spread", "push", "claim + read + complete", "dibs is", "processor µs"],
    )
    for (name, known), found in results.items():
        if known != concurrency:
            continue
        low, high = (min(found.values), max(found.values)) if found.values else (None, None)
        table.rows.append(
            [
                name,
                per_second(found.median),
                spread(low, high),
                per_second(statistics.median(found.pushes) if found.pushes else None),
                per_second(statistics.median(found.drains) if found.drains else None),
                f"{times(_ratio(results, 'dibs', name, concurrency))}x",
                f"{statistics.median(found.processor_us):,.0f}" if found.processor_us else "–",
            ]
        )
    if concurrency > 1 and worked.values:
        table.rows.append([work.NAME, "–", "–", "–", per_second(worked.median), "–", "–"])
    table.notes = [
        '"dibs is": how many times as fast dibs is with as many threads, from push to completion; the median of the '
        "rounds' ratios",
        "processor µs: of the client a task; the server runs on the same machine",
    ]
    return table


def _costs(results: Results, url: str) -> Table:
    """By the meter, in these runs; and what is known beforehand."""
    import dibs
    from dibs.stores.meter import dollars

    table = Table("Requests and money, in a bucket", ["", *KINDS, "paid for", "dollars"])
    for (name, concurrency), found in results.items():
        if name.startswith("dibs"):
            each = {kind: found.per_task(kind) for kind in KINDS}
            cells = [f"{each[kind]:.3f}" for kind in KINDS]
            paid = sum(each[kind] for kind in ("put", "get", "list"))
            million = dollars({kind: round(number * 1e6) for kind, number in each.items()})
            table.rows.append(
                [f"{name}, {concurrency} at once, a task", *cells, f"{paid:.3f}", f"{million:.2f} a million"]
            )
    with dibs.open(url) as queue:
        known = queue.cost()
    beats, idle = BEATS_PER_HOUR, known["idle_hour"]
    renewed = beats * known["renewal"]["dollars"]
    table.rows.append(["renewals of a lease held for an hour", f"{beats}", "0", "0", "0", f"{beats}", f"{renewed:.4f}"])
    if idle is not None:
        listed = str(idle["list"])
        table.rows.append(["an idle worker, an hour", "0", "0", listed, "0", listed, f"{idle['dollars']:.4f}"])
    table.notes = [
        "prices of Amazon S3 Standard, us-east-1; deletes are free",
        "a lease that is kept (`with`, `dibs work`), TTL 60 s, is renewed every 15 s",
        "without what opening takes: whether the store honours conditions, and what its clock says",
    ]
    return table
