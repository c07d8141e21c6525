"""What a long queue costs: a claim, a worker's memory, `stats` and `list` with many tasks waiting and with few."""

import json
import multiprocessing
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from benchmarks.children import as_installed, environment, script
from benchmarks.measure import scratch, settle
from benchmarks.plan import Plan, Size
from benchmarks.report import Outcome, Table, at_most, ratio, times

FILLERS = 2
CHUNK = 2000


def run(plan: Plan) -> Outcome:
    outcome = Outcome("scale")
    path = scratch(plan.folder)
    try:
        outcome.data = _measure(path, plan.size, plan.say)
    except (OSError, RuntimeError, ValueError, LookupError) as error:
        outcome.faults.append(f"dibs with many tasks waiting: {type(error).__name__}: {error}")
    few, many = outcome.data.get("few", {}), outcome.data.get("many", {})
    outcome.tables = [_table(plan.size, few, many)] if many else []
    cost = {kind: ratio(many.get(kind), few.get(kind)) for kind in ("median_us", "mean_us")}
    at = f"with {plan.size.waiting_many:,} waiting"
    outcome.goals = [
        at_most(f"claim + complete {at} against {plan.size.waiting_few:,}, median", cost["median_us"], 1.5),
        at_most(f"claim + complete {at} against {plan.size.waiting_few:,}, mean", cost["mean_us"], 1.5),
        at_most(f"memory of a worker {at}", many.get("peak_mb"), 80, " MB"),
        at_most(f"`dibs stats` {at}", many.get("stats_seconds"), 2.0, " s"),
        at_most(f"`dibs list --limit 20` {at}, processor time", many.get("list_cpu_seconds"), 0.2, " s"),
    ]
    return outcome


def _measure(path: str, size: Size, say: Callable[[str], None]) -> dict[str, dict[str, float]]:
    data: dict[str, dict[str, float]] = {}
    for name, waiting in (("few", size.waiting_few), ("many", size.waiting_many)):
        queue = f"{path}/{name}"
        say(f"pushing {waiting:,} tasks")
        begun = time.perf_counter()
        fill(queue, waiting)
        data[name] = {"fill_seconds": time.perf_counter() - begun}
        settle(waiting)
        say(f"{size.claims:,} claims with {waiting:,} waiting")
        data[name] |= claim_cost(queue, waiting, size.claims)
        say(f"stats and list with {waiting:,} waiting")
        data[name] |= look_cost(queue)
    return data


def fill(queue: str, count: int) -> None:
    """By several processes; nothing of it is timed."""
    context = multiprocessing.get_context("fork")
    _fill(queue, 0, 0)  # makes the folders
    share = -(-count // FILLERS)
    fillers = [
        context.Process(target=_fill, args=(queue, start, min(start + share, count)))
        for start in range(0, count, share)
    ]
    for filler in fillers:
        filler.start()
    for filler in fillers:
        filler.join()
        if filler.exitcode:
            raise RuntimeError(f"pushing {count} tasks failed")


def _fill(queue: str, start: int, end: int) -> None:
    import dibs

    with dibs.open(f"file:{queue}?sync=off") as opened:
        for first in range(start, end, CHUNK):
            opened.push_many({"n": number, "pad": "x" * 180} for number in range(first, min(first + CHUNK, end)))


def claim_cost(queue: str, waiting: int, claims: int) -> dict[str, float]:
    """In a process of its own, so that its memory is a worker's memory."""
    command = [sys.executable, "-m", "benchmarks.scale_worker", queue, str(waiting), str(claims)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"claiming with {waiting} waiting: {done.stderr.strip()[-400:]}")
    found: dict[str, float] = json.loads(done.stdout)
    return found


def look_cost(queue: str) -> dict[str, float]:
    dibs = script("dibs")
    wall, _ = _three_times([dibs, "stats", queue, "--json"])
    list_wall, list_cpu = _three_times([dibs, "list", queue, "--limit", "20", "--json"])
    return {"stats_seconds": wall, "list_seconds": list_wall, "list_cpu_seconds": list_cpu}


def _three_times(command: list[str]) -> tuple[float, float]:
    """Median wall time and processor time."""
    walls, cpus = [], []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begun = time.perf_counter()
        done = subprocess.run(command, env=as_installed(), capture_output=True, text=True, check=False)
        walls.append(time.perf_counter() - begun)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpus.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr.strip()[-300:]}")
    return statistics.median(walls), statistics.median(cpus)


def _table(size: Size, few: dict[str, float], many: dict[str, float]) -> Table:
    table = Table("With many tasks waiting", ["", f"{size.waiting_few:,}", f"{size.waiting_many:,}", "ratio"])
    for title, name, digits in (
        ("claim + complete, median µs", "median_us", 1),
        ("claim + complete, mean µs", "mean_us", 1),
        ("first claim of a process, ms", "first_ms", 1),
        ("memory of a worker at its peak, MB", "peak_mb", 1),
        ("`dibs stats`, s", "stats_seconds", 2),
        ("`dibs list --limit 20`, s", "list_seconds", 2),
        ("`dibs list --limit 20`, processor s", "list_cpu_seconds", 2),
    ):
        values = [few.get(name), many.get(name)]
        cells = ["–" if value is None else f"{value:,.{digits}f}" for value in values]
        table.rows.append([title, *cells, f"{times(ratio(values[1], values[0]))}x"])
    table.notes = [f"{size.claims:,} claims each; with {size.waiting_few:,} the queue is topped up, untimed, at half"]
    return table
