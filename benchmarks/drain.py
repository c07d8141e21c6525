"""Claim + read + complete of 200-byte tasks by 1 and by 4 processes: the floor, dibs, and the embedded peers."""

import statistics
from collections.abc import Callable
from functools import partial

from benchmarks.contenders import Contender, drainers
from benchmarks.contenders.floor import Floor
from benchmarks.measure import Series, alternate, drain
from benchmarks.plan import Plan, Size
from benchmarks.report import Outcome, Table, above, at_least, per_second, ratio, spread, times

PROCESSES = (1, 4)
Results = dict[tuple[str, int], Series]


def run(plan: Plan) -> Outcome:
    outcome = Outcome("drain")
    results: Results = {}
    runs: dict[str, Callable[[], None]] = {}
    contenders = []
    for contender in filter(lambda known: plan.wants(known.name), drainers()):
        if reason := contender.missing():
            outcome.missing.append(f"{contender.name}: {reason}")
            continue
        contenders.append(contender)
        count = min(plan.size.drain_tasks, contender.limit or plan.size.drain_tasks)
        for processes in PROCESSES if contender.shared else (1,):
            series = results[contender.name, processes] = Series(count=count)
            runs[f"{contender.name}, {processes} processes"] = partial(_one, contender, plan.folder, processes, series)
    alternate(plan.rounds, runs, plan.say)
    for contender in contenders:
        _check(contender, results, outcome)
    outcome.tables = [_table(contenders, results, plan.size)]
    _judge(results, outcome)
    outcome.data = {f"{name}/{processes}": series.to_json() for (name, processes), series in results.items()}
    return outcome


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


def _check(contender: Contender, results: Results, outcome: Outcome) -> None:
    for processes in PROCESSES:
        series = results.get((contender.name, processes))
        if series is None:
            continue
        faults = [
            f"{number} {what}"
            for number, what in ((series.doubled, "handed out twice"), (series.lost, "lost"))
            if number
        ]
        if series.error:
            faults.append(series.error)
        if faults and contender.kind != "peer":
            outcome.faults.append(f"{contender.name}, {processes} processes: {', '.join(faults)}")


def _table(contenders: list[Contender], results: Results, size: Size) -> Table:
    table = Table(
        f"Claim + read + complete, {size.drain_tasks:,} tasks of 200 bytes, tasks/s",
        [
            "",
            "1 process",
            "spread",
            "4 processes",
            "spread",
            "dibs is, 1 process",
            "dibs is, 4 processes",
            "processor µs",
            "tasks",
            "durability of a drain",
        ],
    )
    notes = {}
    for contender in contenders:
        one, four = results[contender.name, 1], results.get((contender.name, 4))
        name = "dibs, batches of 100" if "batches" in contender.name else "dibs"
        cells = [contender.name]
        for series in (one, four):
            low, high = (min(series.values), max(series.values)) if series and series.values else (None, None)
            cells += [per_second(series.median if series else None), spread(low, high)]
        cells += [f"{times(_ratio(results, name, contender.name, processes))}x" for processes in PROCESSES]
        processor = f"{statistics.median(one.processor_us):.1f}" if one.processor_us else "–"
        table.rows.append([*cells, processor, f"{one.count:,}", contender.drain_durability])
        faults = [contender.note] if contender.note else []
        for processes in PROCESSES:
            series = results.get((contender.name, processes))
            if series and (series.doubled or series.lost):
                faults.append(
                    f"with {processes} processes {series.doubled} tasks were handed out twice and {series.lost} lost"
                )
            if series and series.error:
                faults.append(f"with {processes} processes it failed: {series.error}")
        if faults:
            notes[contender.name] = "; ".join(faults)
    table.notes = [
        '"dibs is": how many times as fast dibs is, in batches where the other works in batches',
        "processor µs: user and system time a task, with 1 process; a busy machine disturbs it less than the rates",
        "timed from the start barrier to the last task finished; each task is checked to come out exactly once",
        *(f"{name}: {note}" for name, note in notes.items()),
    ]
    return table


def _ratio(results: Results, name: str, other: str, processes: int) -> float | None:
    """A peer that one process alone can use counts with that process."""
    ours, theirs = results.get((name, processes)), results.get((other, processes)) or results.get((other, 1))
    return ratio(ours.median if ours else None, theirs.median if theirs else None)


def _judge(results: Results, outcome: Outcome) -> None:
    compare = partial(_ratio, results)
    floor = Floor.name
    dibs_one, dibs_four = results.get(("dibs", 1)), results.get(("dibs", 4))
    outcome.goals = [
        at_least("drain, 1 process, against the floor", compare("dibs", floor, 1), 0.6),
        at_least("drain, 4 processes, against the floor with 4", compare("dibs", floor, 4), 0.6),
        above(
            "drain, 4 processes against 1 process",
            ratio(dibs_four.median if dibs_four else None, dibs_one.median if dibs_one else None),
            1.0,
        ),
    ]
    for contender in drainers():
        if contender.kind != "peer" or not contender.equal_durability:
            continue
        ours = "dibs, batches of 100" if "batches" in contender.name else "dibs"
        judge, wanted = (at_least, 2.0) if contender.name == "dirq" else (above, 1.0)
        value = compare(ours, contender.name, 4)
        outcome.goals.append(judge(f"drain, 4 processes, against {contender.name}", value, wanted))
