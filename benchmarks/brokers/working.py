"""Enqueueing no-op tasks, and their drain by each queue's own workers: dibs on files and on Redis, the peers on Redis.

Each with several numbers of processes; the fastest counts as its best.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from benchmarks.brokers.broker import Broker
from benchmarks.brokers.drain import drain
from benchmarks.brokers.ours import DibsOnFiles, DibsOnRedis
from benchmarks.brokers.redis_server import version
from benchmarks.measure import Series, alternate
from benchmarks.plan import Plan
from benchmarks.report import Goal, Outcome, Table, above, at_least, per_second, ratio, spread, times

WAYS = ("one", "batch")


@dataclass
class Found:
    """What one queue did: drains by the number of processes, and what every fill of them said of enqueueing."""

    broker: Broker
    drains: dict[int, Series]
    enqueued: dict[str, Series] = field(default_factory=lambda: {way: Series() for way in WAYS})

    @property
    def best(self) -> int:
        return max(self.drains, key=lambda processes: self.drains[processes].median or 0.0)

    def drained(self, processes: int | None = None) -> float | None:
        """Tasks a second; None processes: as many as are best."""
        series = self.drains.get(self.best if processes is None else processes)
        return series.median if series else None

    def enqueueing(self, way: str) -> float | None:
        """Tasks a second; "best": of the ways that it has."""
        if way != "best":
            return self.enqueued[way].median
        return max((series.median for series in self.enqueued.values() if series.median), default=None)

    def to_json(self) -> dict[str, Any]:
        drains = {str(processes): series.to_json() for processes, series in self.drains.items()}
        enqueued = {way: series.to_json() for way, series in self.enqueued.items()}
        best = self.drains[self.best].to_json()
        return {**best, "processes": self.best, "drains": drains, "enqueued": enqueued}


Results = dict[str, Found]


def run(plan: Plan, outcome: Outcome, chosen: list[Broker]) -> None:
    results: Results = {}
    runs: dict[str, Callable[[], None]] = {}
    for broker in chosen:
        count = min(plan.size.broker_tasks, broker.limit or plan.size.broker_tasks)
        drains = {processes: Series(count=count) for processes in plan.size.broker_processes}
        found = results[broker.name] = Found(broker, drains)
        for processes in drains:
            runs[f"{broker.name}, {processes} processes"] = partial(_one, found, plan.folder, processes)
    alternate(min(plan.rounds, plan.size.broker_rounds), runs, plan.say)
    for found in results.values():
        check(found, outcome)
    outcome.tables += [_drain_table(results, plan), _enqueue_table(results)]
    outcome.goals += judge(results)
    outcome.data |= {name: found.to_json() for name, found in results.items()}


def _one(found: Found, folder: str, processes: int) -> None:
    series = found.drains[processes]
    if series.error:
        return
    try:
        done = drain(found.broker, folder, series.count, processes)
    except RuntimeError as error:
        series.error = f"{found.broker.name}: {error}"
        return
    series.values.append(done.ran.rate)
    series.doubled += done.ran.doubled
    series.lost += done.ran.lost
    for way, rate in done.enqueued.items():
        found.enqueued[way].values.append(rate)


def check(found: Found, outcome: Outcome) -> None:
    for processes, series in found.drains.items():
        if series.error or series.doubled or series.lost:
            what = series.error or f"{series.doubled} ran twice, {series.lost} were lost"
            line = f"{found.broker.name}, {processes} processes: {what}"
            (outcome.faults if found.broker.ours else outcome.missing).append(line)


def _fastest(results: Results, speed: Callable[[Found], float | None]) -> tuple[str, float | None]:
    """Of the peers: who is ahead of this one is ahead of each."""
    speeds = {name: speed(found) or 0.0 for name, found in results.items() if not found.broker.ours}
    name = max(speeds, key=lambda name: speeds[name], default="any peer")
    return name, speeds.get(name)


def judge(results: Results) -> list[Goal]:
    files, ours = results.get(DibsOnFiles.name), results.get(DibsOnRedis.name)
    _, best = _fastest(results, Found.drained)
    text = f"`{DibsOnFiles.name}` against the best of the queues on Redis"
    goals = [at_least(text, ratio(files.drained() if files else None, best), 3.0)]
    speeds: dict[str, Callable[[Found], float | None]] = {
        "enqueue, one at a time": lambda found: found.enqueueing("one"),
        "enqueue, each at its best": lambda found: found.enqueueing("best"),
        "drain, each with its best number of processes": Found.drained,
    }
    for what, speed in speeds.items():
        name, fastest = _fastest(results, speed)
        value = ratio(speed(ours) if ours else None, fastest)
        goals.append(above(f"dibs on Redis, {what}, against the fastest peer ({name})", value, 1.0))
    return goals


def _drain_table(results: Results, plan: Plan) -> Table:
    tried = plan.size.broker_processes
    table = Table(
        f"Drain of {plan.size.broker_tasks:,} no-op tasks by the queue's own workers, tasks/s",
        ["", *map(_processes, tried), "spread of the best", "dibs on files is", "dibs on Redis is", "tasks"],
    )
    ours = [results.get(kind.name) for kind in (DibsOnFiles, DibsOnRedis)]
    for name, found in results.items():
        best = found.drains[found.best]
        low, high = (min(best.values), max(best.values)) if best.values else (None, None)
        rates = [per_second(found.drained(processes)) for processes in tried]
        ratios = [f"{times(ratio(mine.drained() if mine else None, best.median))}x" for mine in ours]
        table.rows.append([name, *rates, spread(low, high), *ratios, f"{best.count:,}"])
        if found.broker.note:
            table.notes.append(f"{name}: {found.broker.note}")
    table.notes[:0] = [
        f"Redis {version()} on loopback, nothing saved to disk; no results kept; tasks of 200 bytes",
        "timed from the first task run to the last, for all alike; each task is checked to have run exactly once",
        '"dibs is": how many times as fast, each with its best number of processes; slow queues are given fewer tasks',
    ]
    return table


def _processes(number: int) -> str:
    return "1 process" if number == 1 else f"{number} processes"


def _enqueue_table(results: Results) -> Table:
    table = Table(
        "Enqueueing by one process, tasks/s",
        ["", "one at a time", "in batches", "batches by", "dibs on Redis is, one at a time", "at its best"],
    )
    ours = results.get(DibsOnRedis.name)
    for name, found in results.items():
        cells = [
            per_second(found.enqueueing("one")),
            per_second(found.enqueueing("batch")),
            found.broker.batches or "–",
        ]
        ratios = [ratio(ours.enqueueing(way) if ours else None, found.enqueueing(way)) for way in ("one", "best")]
        table.rows.append([name, *cells, *(f"{times(value)}x" for value in ratios)])
    table.notes = ["medians of all fills above; one at a time: each call returns before the next is made"]
    return table
