"""No-op tasks of 200 bytes on one PostgreSQL server, by 1 and by 4 processes: the raw loop, dibs, and its peers.

Each peer runs with the setting that was fastest for it in short trials here. Also: pushes, what a long queue costs a
claim, and what an idle worker asks.
"""

import os
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.measure import Series, alternate, scratch
from benchmarks.plan import Plan
from benchmarks.postgres import Contender, claims, contenders, idle, tables
from benchmarks.postgres.drain import Bench
from benchmarks.postgres.server import missing, serving
from benchmarks.postgres.tables import BATCHES, OURS_WORK, PROCESSES, Drains, Pushes, Settings
from benchmarks.report import Outcome

TRIALS = 3
MANY = 20  # times as many tasks where they go in batches


def run(plan: Plan) -> Outcome:
    outcome = Outcome("postgres")
    if reason := missing():
        outcome.missing.append(f"PostgreSQL: {reason}")
        return outcome
    chosen = [known for known in contenders() if plan.wants(known.name) and not _missing(known, outcome)]
    folder = scratch(plan.folder)
    with serving(plan.folder) as server:
        bench = Bench(server, folder)
        where = (
            f"PostgreSQL {server.version()} on loopback, {server.settings()}, its data in {_place(server.folder, plan)}"
        )
        drains, settings = _drains(bench, chosen, plan)
        pushes = _pushes(bench, chosen, plan)
        idlers = _idle(bench, chosen, plan, outcome)
        long = _claims(bench, chosen, plan, outcome)
    tables.check(chosen, drains, pushes, outcome)
    outcome.tables = [tables.drained(chosen, drains, settings, where), tables.pushed(chosen, pushes)]
    outcome.tables += [claims.table(found, plan.size, when) for when, found in long.items()]
    outcome.tables += [idle.table(idlers, plan.size.idle_seconds)] if idlers else []
    outcome.goals = tables.goals(contenders(), drains) + claims.goals(long, plan.size) + idle.goals(idlers, OURS_WORK)
    outcome.data = _data(drains, pushes, settings) | {"claims": long, "idle": idlers}
    return outcome


def _missing(contender: Contender, outcome: Outcome) -> bool:
    reason = contender.missing()
    if reason is not None:
        outcome.missing.append(f"{contender.name}: {reason}")
    return reason is not None


def _place(folder: str, plan: Plan) -> str:
    inside = folder.startswith(os.path.realpath(plan.folder))
    return "the folder under test" if inside else "a temporary folder: its user cannot reach the one under test"


def _drains(bench: Bench, chosen: list[Contender], plan: Plan) -> tuple[Drains, Settings]:
    size = plan.size.postgres
    settings: Settings = {}
    for contender in chosen:
        for processes in PROCESSES:
            settings[contender.name, processes] = _best(bench, contender, processes, size.tuning, plan.say)
    results: Drains = {}
    runs: dict[str, Callable[[], None]] = {}
    for processes in PROCESSES:
        for contender in chosen:
            key = contender.name, processes
            results[key] = Series(count=_count(contender, size.tasks))
            runs[f"postgres: {contender.name}, {processes} processes"] = partial(
                _drain, bench, contender, processes, settings[key], results[key]
            )
    alternate(min(plan.rounds, size.rounds), runs, plan.say)
    return results, settings


def _count(contender: Contender, tasks: int) -> int:
    count = tasks * (MANY if contender.batched else 1)
    return min(count, contender.limit or count)


def _best(bench: Bench, contender: Contender, processes: int, tasks: int, say: Callable[[str], None]) -> int:
    """Of its settings, tried in turn: one trial alone says too little on a busy machine."""
    if not tasks or len(contender.tried) == 1:
        return contender.usual
    trials = {setting: Series(count=_count(contender, tasks)) for setting in contender.tried}
    runs: dict[str, Callable[[], None]] = {
        f"postgres: trying {contender.name}, {processes} processes, {contender.setting_means} {setting}": partial(
            _drain, bench, contender, processes, setting, series
        )
        for setting, series in trials.items()
    }
    alternate(TRIALS, runs, say)
    return max(trials, key=lambda setting: trials[setting].median or 0.0)


def _drain(bench: Bench, contender: Contender, processes: int, setting: int, series: Series) -> None:
    if series.error:
        return
    try:
        ran = bench.drain(contender, series.count, processes, setting)
    except RuntimeError as error:
        series.error = str(error)
        return
    series.values.append(ran.rate)
    series.doubled += ran.doubled
    series.lost += ran.lost


def _pushes(bench: Bench, chosen: list[Contender], plan: Plan) -> Pushes:
    size = plan.size.postgres
    results: Pushes = {}
    runs: dict[str, Callable[[], None]] = {}
    for contender in filter(lambda known: known.pushes, chosen):
        for batch in BATCHES:
            series = results[contender.name, batch] = Series(count=size.tasks * (1 if batch == 1 else MANY))
            runs[f"postgres: {contender.name} pushes {batch} at once"] = partial(_push, bench, contender, batch, series)
    alternate(min(plan.rounds, size.rounds), runs, plan.say)
    return results


def _push(bench: Bench, contender: Contender, batch: int, series: Series) -> None:
    if series.error:
        return
    try:
        series.values.append(bench.push(contender, series.count, batch))
    except RuntimeError as error:
        series.error = str(error)


def _idle(bench: Bench, chosen: list[Contender], plan: Plan, outcome: Outcome) -> dict[str, float]:
    waiting = [known for known in chosen if known.kind == "peer" or known.name == OURS_WORK]
    found, wrong = idle.measure(bench, waiting, plan.size.idle_seconds, plan.say)
    for name, what in wrong.items():
        (outcome.faults if name == OURS_WORK else outcome.missing).append(f"{name}, idle: {what}")
    return found


def _claims(bench: Bench, chosen: list[Contender], plan: Plan, outcome: Outcome) -> dict[str, claims.Figures]:
    if not any(known.name == "dibs" for known in chosen):
        return {}
    try:
        return claims.measure(bench, plan.size, plan.say)
    except RuntimeError as error:
        outcome.faults.append(f"dibs on PostgreSQL with many tasks: {error}")
        return {}


def _data(drains: Drains, pushes: Pushes, settings: Settings) -> dict[str, Any]:
    return {
        "drains": {
            f"{name}/{processes}": {**series.to_json(), "setting": settings[name, processes]}
            for (name, processes), series in drains.items()
        },
        "pushes": {f"{name}/{batch}": series.to_json() for (name, batch), series in pushes.items()},
    }
