"""What the drains and pushes on PostgreSQL found: tables, goals, and what went wrong."""

import statistics

from benchmarks.measure import Series
from benchmarks.postgres.contender import BATCH, Contender
from benchmarks.report import Goal, Outcome, Table, above, at_least, per_second, spread, times

PROCESSES = (1, 4)
BATCHES = (1, 100, 1000)
OURS, OURS_CHAINED, OURS_BATCH = "dibs", "dibs, complete_and_claim", f"dibs, batches of {BATCH}"
OURS_WORK = "dibs work --call --batch"
FLOOR_SHARE = 0.7

Drains = dict[tuple[str, int], Series]  # by name and processes
Pushes = dict[tuple[str, int], Series]  # by name and size of a batch
Settings = dict[tuple[str, int], int]


def like(contender: Contender) -> str:
    """What of ours works as it does: in batches, or one task at a time with two statements or one."""
    return OURS_BATCH if contender.batched else OURS_CHAINED if contender.chained else OURS


def against(results: dict[tuple[str, int], Series], one: str, other: str, number: int) -> float | None:
    """The median of the rounds' own ratios: the machine may be faster in one round than in the next."""
    ours, theirs = results.get((one, number)), results.get((other, number))
    if ours is None or theirs is None or not ours.values or len(ours.values) != len(theirs.values):
        return None
    return statistics.median(mine / yours for mine, yours in zip(ours.values, theirs.values, strict=True))


def drained(contenders: list[Contender], results: Drains, settings: Settings, where: str) -> Table:
    table = Table(
        "Claim + run + complete of no-op tasks of 200 bytes on PostgreSQL, tasks/s",
        [
            "",
            "1 process",
            "spread",
            "4 processes",
            "spread",
            "dibs is, 1 process",
            "dibs is, 4 processes",
            "dibs work is, 1",
            "dibs work is, 4",
            "tasks",
            "setting, 1 and 4",
        ],
    )
    for contender in contenders:
        cells = [contender.name]
        for processes in PROCESSES:
            series = results[contender.name, processes]
            cells += [per_second(series.median), _spread(series)]
        for ours in (like(contender), OURS_WORK):
            cells += [f"{times(against(results, ours, contender.name, number))}x" for number in PROCESSES]
        chosen = [str(settings[contender.name, processes]) for processes in PROCESSES]
        setting = f"{contender.setting_means} {', '.join(chosen)}" if contender.setting_means else ""
        table.rows.append([*cells, f"{results[contender.name, 1].count:,}", setting])
    table.notes = [
        where,
        "timed from the first task that ran to when none was unfinished in the database; each is checked to run once",
        '"dibs is": how many times as fast dibs is, in batches of 100 where the other fetches many at once, by '
        'complete_and_claim where it takes one statement a task; "dibs work is": the same of its worker, which has one '
        "task a thread; the medians of the rounds' ratios",
        *(f"{contender.name}: {contender.note}" for contender in contenders if contender.note),
        *(
            f"{name}, {processes} processes, failed: {series.error}"
            for (name, processes), series in results.items()
            if series.error
        ),
    ]
    return table


def pushed(contenders: list[Contender], results: Pushes) -> Table:
    titles = ["one at a time" if batch == 1 else f"{batch:,} at once" for batch in BATCHES]
    columns = [column for title in titles for column in (title, "spread", "dibs is")]
    table = Table("Push to PostgreSQL, one process, tasks/s", ["", *columns])
    for contender in contenders:
        if (contender.name, 1) not in results:
            continue
        cells = [contender.name]
        for batch in BATCHES:
            series = results[contender.name, batch]
            ratio = times(against(results, OURS, contender.name, batch))
            cells += [per_second(series.median), _spread(series), f"{ratio}x"]
        table.rows.append(cells)
    table.notes = [f"{name} failed: {series.error}" for (name, _), series in results.items() if series.error]
    return table


def _spread(series: Series) -> str:
    return spread(min(series.values), max(series.values)) if series.values else "–"


def goals(contenders: list[Contender], results: Drains) -> list[Goal]:
    """Of all contenders, those too that did not run."""
    found = []
    for contender in contenders:
        for processes in PROCESSES:
            at = f"postgres, {processes} process{'es' if processes > 1 else ''}"
            if contender.kind == "floor":
                ours = like(contender)
                value = against(results, ours, contender.name, processes)
                found.append(at_least(f"{at}, {ours}, against the {contender.name}", value, FLOOR_SHARE))
            elif contender.kind == "peer":
                for ours in (like(contender), OURS_WORK):
                    value = against(results, ours, contender.name, processes)
                    found.append(above(f"{at}, {ours}, against {contender.name}", value, 1.0))
    return found


def check(contenders: list[Contender], drains: Drains, pushes: Pushes, outcome: Outcome) -> None:
    """What was lost, doubled or broken: a fault where it is ours, else said beside what is missing."""
    kinds = {contender.name: contender.kind for contender in contenders}
    rows = [(name, f"{name}, {processes} processes", series) for (name, processes), series in drains.items()]
    rows += [(name, f"{name}, pushing {batch} at once", series) for (name, batch), series in pushes.items()]
    for name, title, series in rows:
        if series.error or series.doubled or series.lost:
            what = series.error or f"{series.doubled} tasks ran twice, {series.lost} were lost"
            (outcome.missing if kinds[name] == "peer" else outcome.faults).append(f"postgres: {title}: {what}")
