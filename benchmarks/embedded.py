"""dibs in LMDB beside raw LMDB (the floor), raw SQLite and the queues on SQLite, each at its equal in durability.

Claim + read + complete of 200-byte tasks by 1 and by 4 processes, one at a time and in batches of 100; and what a claim
costs among many tasks that wait and as many that are completed.
"""

import json
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from benchmarks.children import environment
from benchmarks.contenders.contender import Contender
from benchmarks.contenders.dibs_lmdb import DibsLmdb
from benchmarks.contenders.huey_storage import HueySqlite
from benchmarks.contenders.lite_queue import LiteQueue
from benchmarks.contenders.persist_queue import PersistQueueSqlite
from benchmarks.contenders.raw_lmdb import RawLmdb
from benchmarks.contenders.raw_sqlite import RawSqlite
from benchmarks.measure import Series, alternate, drain, scratch
from benchmarks.plan import Plan, Size
from benchmarks.report import Goal, Outcome, Table, above, at_most, per_second, ratio, spread, times

PROCESSES = (1, 4)
BATCH = 100


@dataclass
class Group:
    """Contenders that do the same with the same durability; the first is dibs at its best."""

    title: str
    contenders: list[Contender]
    count: int
    results: dict[tuple[str, int], Series] = field(default_factory=dict)

    @property
    def ours(self) -> str:
        return self.contenders[0].name

    def ratio(self, other: str, processes: int) -> float | None:
        """The median of what each round found."""
        ours, theirs = (self.results.get((name, processes)) for name in (self.ours, other))
        found = [one / two for one, two in zip(ours.values, theirs.values, strict=False)] if ours and theirs else []
        return statistics.median(found) if found else None


def groups(size: Size) -> list[Group]:
    found = []
    for durability, sync, mode, count in (
        ("not synced", False, "OFF", size.drain_tasks),
        ("durable", True, "FULL", size.durable_pushes),
    ):
        singles: list[Contender] = [
            DibsLmdb(sync=sync, chained=True),
            DibsLmdb(sync=sync),
            RawLmdb(sync=sync),
            RawSqlite(synchronous=mode),
            HueySqlite(synchronous=mode),
            PersistQueueSqlite(synchronous=mode),
            LiteQueue(synchronous=mode),
        ]
        batches: list[Contender] = [
            DibsLmdb(BATCH, sync),
            RawLmdb(BATCH, sync),
            RawSqlite(BATCH, mode),
        ]
        found.append(Group(f"{durability}, one at a time", singles, count))
        found.append(Group(f"{durability}, batches of {BATCH}", batches, count * 5 if sync else count))
    return found


def run(plan: Plan) -> Outcome:
    outcome = Outcome("embedded")
    runs: dict[str, Callable[[], None]] = {}
    found = groups(plan.size)
    for group in found:
        _prepare(group, plan, outcome, runs)
    alternate(plan.rounds, runs, plan.say)
    for group in found:
        outcome.tables.append(_table(group))
        outcome.goals += _goals(group)
        for (name, processes), series in group.results.items():
            outcome.data[f"{group.title}/{name}/{processes}"] = series.to_json()
            if name.startswith("dibs") and (series.error or series.doubled or series.lost):
                what = series.error or f"{series.doubled} handed out twice, {series.lost} lost"
                outcome.faults.append(f"{name}, {group.title}, {processes} processes: {what}")
    _scale(plan, outcome)
    return outcome


def _prepare(group: Group, plan: Plan, outcome: Outcome, runs: dict[str, Callable[[], None]]) -> None:
    wanted = [contender for contender in group.contenders if plan.wants(contender.name)]
    for contender in wanted:
        if reason := contender.missing():
            line = f"{contender.name}: {reason}"
            outcome.missing += [line] if line not in outcome.missing else []
            continue
        for processes in PROCESSES:
            count = min(group.count, contender.limit or group.count)
            series = group.results[contender.name, processes] = Series(count=count)
            label = f"{contender.name}, {group.title}, {processes} processes"
            runs[label] = partial(_one, contender, plan.folder, processes, series)


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


def _table(group: Group) -> Table:
    columns = ["", "1 process", "spread", "4 processes", "spread", "dibs is, 1 process", "dibs is, 4 processes"]
    table = Table(f"Embedded, {group.title}, tasks/s", [*columns, "processor µs", "tasks", "durability"])
    for contender in group.contenders:
        if (contender.name, 1) not in group.results:
            continue
        cells = [contender.name]
        for processes in PROCESSES:
            series = group.results[contender.name, processes]
            low, high = (min(series.values), max(series.values)) if series.values else (None, None)
            cells += [per_second(series.median), spread(low, high)]
            for fault, number in (("handed out twice", series.doubled), ("lost", series.lost)):
                if number:
                    table.notes.append(f"{contender.name}: with {processes} processes {number} tasks were {fault}")
            if series.error:
                table.notes.append(f"{contender.name}: with {processes} processes it failed: {series.error}")
        cells += [f"{times(group.ratio(contender.name, processes))}x" for processes in PROCESSES]
        one = group.results[contender.name, 1]
        processor = f"{statistics.median(one.processor_us):.1f}" if one.processor_us else "–"
        table.rows.append([*cells, processor, f"{one.count:,}", contender.drain_durability])
        if contender.note:
            table.notes.append(f"{contender.name}: {contender.note}")
    table.notes.append("dibs hands out decoded payloads and keeps what is completed; raw LMDB and SQLite delete it")
    return table


def _goals(group: Group) -> list[Goal]:
    return [
        above(
            f"{group.title}, {processes} {'process' if processes == 1 else 'processes'}, against {contender.name}",
            group.ratio(contender.name, processes),
            1.0,
        )
        for contender in group.contenders
        if contender.kind == "peer"
        for processes in PROCESSES
    ]


def _scale(plan: Plan, outcome: Outcome) -> None:
    size = plan.size
    costs: dict[int, float] = {}
    if plan.wants("dibs lmdb:") and DibsLmdb().missing() is None:
        for waiting in (size.waiting_few, size.waiting_many):
            plan.say(f"{size.claims:,} claims with {waiting:,} waiting and completed")
            words = [scratch(plan.folder), str(waiting), str(size.claims)]
            command = [sys.executable, "-m", "benchmarks.embedded_worker", *words]
            done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
            if done.returncode:
                outcome.faults.append(f"dibs lmdb: with {waiting} waiting: {done.stderr.strip()[-400:]}")
                continue
            found = outcome.data[f"scale/{waiting}"] = json.loads(done.stdout)
            costs[waiting] = found["median_us"]
    few, many = costs.get(size.waiting_few), costs.get(size.waiting_many)
    if few and many:
        columns = ["", f"{size.waiting_few:,}", f"{size.waiting_many:,}", "ratio"]
        row = ["claim + complete, median µs", f"{few:,.1f}", f"{many:,.1f}", f"{times(ratio(many, few))}x"]
        outcome.tables.append(Table("Embedded, with many tasks waiting and as many completed", columns, [row]))
    text = f"lmdb: claim + complete with {size.waiting_many:,} waiting and completed against {size.waiting_few:,}"
    outcome.goals.append(at_most(text, ratio(many, few), 1.5))
