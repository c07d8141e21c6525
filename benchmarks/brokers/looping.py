"""Claim + read + complete on Redis by 1 and by 4 processes: dibs by its API beside a raw queue in Lua."""

import statistics
from collections.abc import Callable
from functools import partial

from benchmarks.brokers.api_loops import WAYS, loops
from benchmarks.brokers.redis_server import redis_server
from benchmarks.contenders.contender import Contender
from benchmarks.measure import Series, alternate, drain, scratch
from benchmarks.plan import Plan
from benchmarks.report import Outcome, Table, at_least, per_second, spread, times

PROCESSES = (1, 4)
WANTED = 0.7
Results = dict[tuple[str, int], Series]


def run(plan: Plan, outcome: Outcome) -> None:
    results: Results = {}
    runs: dict[str, Callable[[], None]] = {}
    with redis_server(scratch(plan.folder)) as url:
        chosen = [contender for contender in loops(url) if plan.wants(contender.name)]
        for processes in PROCESSES:
            for contender in chosen:
                series = results[contender.name, processes] = Series(count=plan.size.broker_tasks)
                one = partial(_one, contender, plan.folder, processes, series)
                runs[f"{contender.name}, {processes} processes"] = one
        alternate(min(plan.rounds, plan.size.broker_rounds), runs, plan.say)
    for (name, processes), series in results.items():
        if series.error or series.doubled or series.lost:
            what = series.error or f"{series.doubled} handed out twice, {series.lost} lost"
            outcome.faults.append(f"{name}, {processes} processes: {what}")
    outcome.tables.append(_table(chosen, results, plan.size.broker_tasks))
    for way in WAYS:
        for processes in PROCESSES:
            text = f"dibs on Redis, {way}, {processes} processes, against raw Lua with as many"
            outcome.goals.append(at_least(text, _advantage(results, way, processes), WANTED))
    outcome.data["loops"] = {f"{name}/{processes}": series.to_json() for (name, processes), series in results.items()}


def _one(contender: Contender, folder: str, processes: int, series: Series) -> None:
    if series.error:
        return
    try:
        done = drain(contender, folder, series.count, processes)
    except RuntimeError as error:
        series.error = str(error)
        return
    series.values.append(done.rate)
    series.processor_us.append(done.processor_seconds / done.count * 1e6)
    series.doubled += done.doubled
    series.lost += done.lost


def _advantage(results: Results, way: str, processes: int) -> float | None:
    """The median of the rounds' own ratios: the two of a way run one right after the other."""
    ours = results.get((f"dibs on Redis, {way}", processes))
    floor = results.get((f"raw Lua, {way}", processes))
    if ours is None or floor is None or not ours.values or len(ours.values) != len(floor.values):
        return None
    return statistics.median(mine / least for mine, least in zip(ours.values, floor.values, strict=True))


def _table(contenders: list[Contender], results: Results, count: int) -> Table:
    table = Table(
        f"Claim + read + complete on Redis, {count:,} tasks of 200 bytes, tasks/s",
        ["", "1 process", "spread", "4 processes", "spread", "of raw Lua, 1", "of raw Lua, 4", "processor µs"],
    )
    for contender in contenders:
        cells = [contender.name]
        for processes in PROCESSES:
            series = results[contender.name, processes]
            low, high = (min(series.values), max(series.values)) if series.values else (None, None)
            cells += [per_second(series.median), spread(low, high)]
        way = contender.name.partition(", ")[2]
        dibs = contender.kind == "dibs"
        cells += [f"{times(_advantage(results, way, processes) if dibs else None)}x" for processes in PROCESSES]
        spent = results[contender.name, 1].processor_us
        table.rows.append([*cells, f"{statistics.median(spent):.0f}" if spent else "–"])
        if contender.note:
            table.notes.append(f"{contender.name}: {contender.note}")
    table.notes += [
        "raw Lua: a sorted set by priority, one of leases by the server's clock, a hash of payloads; it fences "
        "nothing, takes nothing over, keeps no record of what is completed",
        "of raw Lua: the median of the rounds' ratios; processor µs: of the client a task, with 1 process",
    ]
    return table
