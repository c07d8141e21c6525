"""Push of 200-byte tasks by one process: durable ones beside durable peers, unsynced ones beside unsynced."""

import time
from collections.abc import Callable
from functools import partial

from benchmarks.contenders import Contender, durable_pushers, unsynced_pushers
from benchmarks.measure import Series, alternate, scratch, settle
from benchmarks.payloads import payloads
from benchmarks.plan import Plan
from benchmarks.report import Outcome, Table, per_second, ratio, spread, times


def run(plan: Plan) -> Outcome:
    outcome = Outcome("push")
    for title, contenders, count in (
        ("Push, on disk when it returns", durable_pushers(), plan.size.durable_pushes),
        ("Push, not synced", unsynced_pushers(), plan.size.unsynced_pushes),
    ):
        results: dict[str, Series] = {}
        runs: dict[str, Callable[[], None]] = {}
        for contender in filter(lambda known: plan.wants(known.name), contenders):
            if reason := contender.missing():
                outcome.missing.append(f"{contender.name}: {reason}")
                continue
            series = results[contender.name] = Series(count=min(count, contender.limit or count))
            runs[f"{title}: {contender.name}"] = partial(_one, contender, plan.folder, series)
        alternate(plan.rounds, runs, plan.say)
        outcome.tables.append(_table(f"{title}, tasks/s", contenders, results))
        for contender in contenders:
            if contender.kind == "dibs" and contender.name in results and results[contender.name].error:
                outcome.faults.append(results[contender.name].error)
        outcome.data |= {f"{title}/{name}": series.to_json() for name, series in results.items()}
    return outcome


def _one(contender: Contender, folder: str, series: Series) -> None:
    if series.error:
        return
    path = scratch(folder)
    tasks = payloads(series.count)
    try:
        handle = contender.open(path)
        contender.push(handle, tasks[:1])
        settle(series.count)
        begun = time.perf_counter()
        contender.push(handle, tasks[1:])
        series.values.append((series.count - 1) / (time.perf_counter() - begun))
    except Exception as error:  # a broken contender is a result, not the end of the run
        series.error = f"{contender.name}: {type(error).__name__}: {error}"


def _table(title: str, contenders: list[Contender], results: dict[str, Series]) -> Table:
    table = Table(title, ["", "tasks/s", "spread", "dibs is", "tasks", "durability of a push"])
    ours = {"": "", "batches": ""}
    for contender in contenders:
        if contender.kind == "dibs":
            ours["batches" if "batches" in contender.name else ""] = contender.name
    for contender in contenders:
        series = results.get(contender.name)
        if series is None:
            continue
        mine = results.get(ours["batches" if "batches" in contender.name else ""])
        low, high = (min(series.values), max(series.values)) if series.values else (None, None)
        advantage = ratio(mine.median if mine else None, series.median)
        table.rows.append(
            [
                contender.name,
                per_second(series.median),
                spread(low, high),
                f"{times(advantage)}x",
                f"{series.count:,}",
                series.error or contender.push_durability,
            ]
        )
    return table
