"""Listing a folder of specs: everything read, from the cache, as a command; and what is ready of a large graph.

Each measurement is a process of its own, forked when all is imported, so that nothing is remembered from one to the
next. What is judged are the rounds' own ratios to the floor of the same round, in processor time: the files are in the
system's memory, so on a quiet machine that is all the time there is, and other work disturbs it less.
"""

import multiprocessing
import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable
from typing import Any

from benchmarks.children import as_installed, script
from benchmarks.measure import Series, alternate, scratch, settle
from benchmarks.plan import Plan
from benchmarks.report import Outcome, Table, at_most, ratio, spread, times
from benchmarks.specs_folder import fill, nodes
from dibs.specs import reading  # noqa: F401  (imported before the clock starts)
from dibs.specs.cache import place_of
from dibs.specs.catalog import Catalog
from dibs.specs.graph import Graph

_FORK = multiprocessing.get_context("fork")
READ, STAT = "read every file", "stat every file"
BARE_READ = "read every file, bare system calls"
COLD, COLD_KEPT = "cold", "cold, and the cache written"
WARM, WARM_READY = "warm", "warm, and what is ready"
COMMAND = "dibs specs list --ready"
FLOORS = {COLD: READ, COLD_KEPT: READ, WARM: STAT, WARM_READY: STAT}
PROCESSOR_SECONDS = 0.15  # of the command, start-up included


def run(plan: Plan) -> Outcome:
    outcome = Outcome("specs")
    count = plan.size.spec_files
    folder = os.path.join(scratch(plan.folder), "specs")
    plan.say(f"writing {count:,} specs")
    fill(folder, count)
    settle(count)
    time.sleep(0.3)  # what has just been written is not trusted to a cache
    results = {name: Series(count=count) for name in _measurements(folder)}
    results[COMMAND] = Series(count=count)
    try:
        listed = _rounds(plan, folder, results)
        graphs = _graphs(plan)
    except (OSError, RuntimeError, ValueError, LookupError, EOFError) as error:
        outcome.faults.append(f"listing {count:,} specs: {type(error).__name__}: {error}")
        return outcome
    outcome.data = {name: series.to_json() for name, series in results.items()} | {"graphs": graphs}
    outcome.tables = [_table(results, count, listed), _graph_table(graphs)]
    half, double = (graphs[str(size)]["ready_us"] for size in (plan.size.spec_nodes // 2, plan.size.spec_nodes * 2))
    outcome.goals = [
        at_most(f"specs, cold list of {count:,} against reading their bytes", _against(results, COLD_KEPT), 2.5),
        at_most(f"specs, warm list of {count:,} against a stat of each", _against(results, WARM), 1.5),
        at_most(
            f"`{COMMAND}` of {count:,}, warm, processor time", _cpu_seconds(results[COMMAND]), PROCESSOR_SECONDS, " s"
        ),
        at_most("specs, what is ready, cost of a spec in a graph four times as large", ratio(double, half), 1.5),
    ]
    return outcome


def _measurements(folder: str) -> dict[str, Callable[[], Any]]:
    """Each is run in a process of its own; its answer is checked."""
    kept = os.path.join(os.path.dirname(folder), "cache")

    def cold_kept() -> int:
        cache = f"{kept}-{os.getpid()}"
        found = len(Catalog(folder, cache=cache).specs())
        assert os.path.exists(cache), "the cache was not written"
        return found

    def ready() -> int:
        listing = Catalog(folder, cache=kept).specs()
        Graph(listing.nodes).ready(time.time())
        return len(listing)

    return {
        READ: lambda: sum([1 for name in os.listdir(folder) if _bytes_of(os.path.join(folder, name))]),
        BARE_READ: lambda: _bare_read(folder),
        COLD: lambda: len(Catalog(folder, cache=None).specs()),
        COLD_KEPT: cold_kept,
        STAT: lambda: len([entry.stat(follow_symlinks=False) for entry in os.scandir(folder)]),
        WARM: lambda: len(Catalog(folder, cache=kept).specs()),
        WARM_READY: ready,
    }


def _bytes_of(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _bare_read(folder: str) -> int:
    count = 0
    for name in os.listdir(folder):
        descriptor = os.open(f"{folder}/{name}", os.O_RDONLY)
        count += bool(os.read(descriptor, 1 << 16))
        os.close(descriptor)
    return count


def _rounds(plan: Plan, folder: str, results: dict[str, Series]) -> int:
    """How many specs the command listed."""
    measured = _measurements(folder)
    count = plan.size.spec_files
    listed = 0
    Catalog(folder, cache=os.path.join(os.path.dirname(folder), "cache")).specs()
    if (cache := place_of(folder)) is None:
        raise RuntimeError("there is no place for a cache")

    def once(name: str) -> None:
        found, seconds, cpu = _apart(measured[name])
        if found != count:
            raise RuntimeError(f"{name}: {found} specs instead of {count}")
        results[name].values.append(seconds)
        results[name].processor_us.append(cpu * 1e6 / count)

    def command() -> None:
        nonlocal listed
        lines, seconds, cpu = _command(folder)
        listed = lines - 1
        results[COMMAND].values.append(seconds)
        results[COMMAND].processor_us.append(cpu * 1e6 / count)

    try:
        _command(folder)  # fills the cache
        runs: dict[str, Callable[[], None]] = {name: lambda name=name: once(name) for name in measured}  # type: ignore[misc]
        alternate(plan.rounds, runs | {COMMAND: command}, plan.say)
    finally:
        if os.path.exists(cache):
            os.unlink(cache)
    return listed


def _apart(action: Callable[[], Any]) -> tuple[Any, float, float]:
    """What it says, its seconds and its processor seconds, in a process of its own."""
    receiver, sender = _FORK.Pipe(duplex=False)
    process = _FORK.Process(target=_measured, args=(action, sender))
    process.start()
    sender.close()
    answer: tuple[Any, float, float] = receiver.recv()
    process.join()
    return answer


def _measured(action: Callable[[], Any], sender: Any) -> None:
    spent, begun = time.process_time(), time.perf_counter()
    found = action()
    sender.send((found, time.perf_counter() - begun, time.process_time() - spent))


def _command(folder: str) -> tuple[int, float, float]:
    command = [script("dibs"), "specs", "list", "--ready", "--folder", folder]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    done = subprocess.run(command, env=as_installed(), capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr.strip()[-300:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout.count("\n"), seconds, cpu


def _graphs(plan: Plan) -> dict[str, dict[str, float]]:
    """Microseconds of the processor a spec, for graphs of half the size, the size, and double."""
    sizes = [plan.size.spec_nodes // 2, plan.size.spec_nodes, plan.size.spec_nodes * 2]
    made = {size: nodes(size) for size in sizes}
    spent: dict[int, list[float]] = {size: [] for size in sizes}
    circles: dict[int, list[float]] = {size: [] for size in sizes}
    for _ in range(plan.rounds):
        for size in sizes:
            spent[size].append(_apart(lambda size=size: len(Graph(made[size]).ready(0.0)))[2])  # type: ignore[misc]
            circles[size].append(_apart(lambda size=size: len(Graph(made[size]).cycles))[2])  # type: ignore[misc]
    return {
        str(size): {
            "ready_us": statistics.median(spent[size]) * 1e6 / size,
            "circles_us": statistics.median(circles[size]) * 1e6 / size,
        }
        for size in sizes
    }


def _against(results: dict[str, Series], name: str) -> float | None:
    """The median of the rounds' ratios to the floor, in processor time."""
    pairs = zip(results[name].processor_us, results[FLOORS[name]].processor_us, strict=True)
    ratios = [one / floor for one, floor in pairs]
    return statistics.median(ratios) if ratios else None


def _cpu_seconds(series: Series) -> float | None:
    return statistics.median(series.processor_us) * series.count / 1e6 if series.processor_us else None


def _table(results: dict[str, Series], count: int, listed: int) -> Table:
    table = Table(
        f"A folder of {count:,} specs, ms", ["", "median", "spread", "processor", "against", "ratio of processor"]
    )
    for name, series in results.items():
        floor = FLOORS.get(name, "")
        low, high = min(series.values) * 1000, max(series.values) * 1000
        cpu = (_cpu_seconds(series) or 0.0) * 1000
        against = f"{times(_against(results, name))}x" if floor else ""
        table.rows.append(
            [name, f"{(series.median or 0) * 1000:.1f}", spread(low, high, 1), f"{cpu:.1f}", floor, against]
        )
    table.notes = [
        "cold: every file is read and parsed; warm: every file is looked at (stat), the rest is from the cache",
        "the files are in the system's memory in all rounds; the ratio is the median of the rounds' own",
        f"the command starts from nothing, and prints {listed:,} specs",
    ]
    return table


def _graph_table(graphs: dict[str, dict[str, float]]) -> Table:
    table = Table("What is ready, processor µs a spec", ["", *(f"{int(size):,} specs" for size in graphs)])
    for title, name in (("what is ready, in order", "ready_us"), ("circles", "circles_us")):
        table.rows.append([title, *(f"{found[name]:.2f}" for found in graphs.values())])
    table.notes = ["two dependencies a spec; half of the specs are completed"]
    return table
