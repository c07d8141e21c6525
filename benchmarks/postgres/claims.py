"""What a claim costs with many tasks waiting, and with many completed, beside one with few: three queues, in turn.

Once right after so many were completed, with what their steps left behind still there, and once vacuumed. Nothing is
synced here: waiting for the disk would hide what the statements themselves cost.
"""

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.plan import Size
from benchmarks.postgres.dibs_postgres import Dibs, opened
from benchmarks.postgres.drain import MUCH, Bench
from benchmarks.postgres.processes import apart, together
from benchmarks.report import Goal, Table, at_most, ratio, times

FEW, WAITING, COMPLETED = "few", "waiting", "completed"
UNVACUUMED, VACUUMED = "not vacuumed", "vacuumed"
UNSYNCED = "options=-c%20synchronous_commit%3Doff"
CHUNK = 2000
KINDS = (("claim", "claim"), ("complete", "complete"), ("both", "claim + complete"))

Figures = dict[str, dict[str, float]]


def measure(bench: Bench, size: Size, say: Callable[[str], None]) -> dict[str, Figures]:
    dibs = Dibs()
    root = bench.fresh(dibs)
    urls = {kind: f"{root}?schema={kind}&{UNSYNCED}" for kind in (FEW, WAITING, COMPLETED)}
    many = size.postgres.waiting
    say(f"postgres: {many:,} tasks waiting, and {many:,} completed")
    together((_fill, urls[FEW], size.waiting_few), (_fill, urls[WAITING], many), (_complete, urls[COMPLETED], many))
    apart(_fill, urls[COMPLETED], size.waiting_few)
    bench.server.settle(dibs.database, written=many >= MUCH)
    say(f"postgres: {size.postgres.claims:,} claims in each, in turn")
    found: dict[str, Figures] = {UNVACUUMED: apart(_claims, urls, size.postgres.claims)}
    bench.server.vacuum(dibs.database, [f"{kind}.tasks" for kind in urls])
    say(f"postgres: {size.postgres.claims:,} claims in each, in turn, vacuumed")
    found[VACUUMED] = apart(_claims, urls, size.postgres.claims)
    return found


def _tasks(count: int) -> Iterator[dict[str, Any]]:
    return ({"n": number, "pad": "x" * 180} for number in range(count))


def _fill(url: str, count: int) -> None:
    with opened(url) as queue:
        queue.push_many(_tasks(count))


def _complete(url: str, count: int) -> None:
    """Pushed, claimed and completed, as they would be."""
    with opened(url) as queue:
        for start in range(0, count, CHUNK):
            queue.push_many(_tasks(min(CHUNK, count - start)))
            if queue.complete_many(queue.claim_many(CHUNK)):
                raise RuntimeError("leases lost")


def _claims(urls: dict[str, str], claims: int) -> Figures:
    """Each claim is followed by a push, untimed, so that as many wait at the end as at the beginning."""
    queues = {kind: opened(url) for kind, url in urls.items()}
    spent: dict[str, dict[str, list[float]]] = {kind: {name: [] for name, _ in KINDS} for kind in urls}
    clock = time.perf_counter
    warm = min(claims, 20)
    for number in range(claims + warm):
        for kind, queue in queues.items():
            begun = clock()
            lease = queue.claim()
            claimed = clock()
            if lease is None:
                raise RuntimeError(f"nothing to claim, though tasks wait ({kind})")
            lease.complete()
            done = clock()
            queue.push(lease.payload)
            if number >= warm:
                for name, value in (("claim", claimed - begun), ("complete", done - claimed), ("both", done - begun)):
                    spent[kind][name].append(value)
    for queue in queues.values():
        queue.close()
    return {kind: _figures(values) for kind, values in spent.items()}


def _figures(values: dict[str, list[float]]) -> dict[str, float]:
    medians = {f"{name}_median_us": statistics.median(spent) * 1e6 for name, spent in values.items()}
    return medians | {f"{name}_mean_us": statistics.fmean(spent) * 1e6 for name, spent in values.items()}


def table(found: Figures, size: Size, when: str) -> Table:
    few, many = f"{size.waiting_few:,}", f"{size.postgres.waiting:,}"
    made = Table(
        f"On PostgreSQL, with many tasks, {when}, µs",
        ["", f"{few} waiting", f"{many} waiting", "ratio", f"{few} waiting, {many} completed", "ratio"],
    )
    for name, title in KINDS:
        for what in ("median", "mean"):
            row = {kind: figures[f"{name}_{what}_us"] for kind, figures in found.items()}
            cells = [f"{title}, {what}", f"{row[FEW]:,.0f}"]
            for kind in (WAITING, COMPLETED):
                cells += [f"{row[kind]:,.0f}", f"{times(ratio(row[kind], row[FEW]))}x"]
            made.rows.append(cells)
    made.notes = [
        f"{size.postgres.claims:,} claims in each of three schemas, in turn, by one process; a push after each",
        "synchronous_commit is off here: waiting for the disk would hide the difference",
    ]
    return made


def goals(found: dict[str, Figures], size: Size) -> list[Goal]:
    return [
        at_most(
            f"postgres, claim, {size.postgres.waiting:,} {kind} against {size.waiting_few:,} waiting, {when}, {what}",
            _cost(found.get(when, {}), kind, what),
            1.5,
        )
        for when in (UNVACUUMED, VACUUMED)
        for kind in (WAITING, COMPLETED)
        for what in ("median", "mean")
    ]


def _cost(found: Figures, kind: str, what: str) -> float | None:
    name = f"claim_{what}_us"
    return ratio(found.get(kind, {}).get(name), found.get(FEW, {}).get(name))
