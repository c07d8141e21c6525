"""Start-up of the command line: each command as a shell script would run it, beside `python -c pass`."""

import json
import subprocess
import sys
import time
from collections.abc import Callable

from benchmarks.children import as_installed, script
from benchmarks.measure import Series, scratch
from benchmarks.plan import Plan
from benchmarks.report import Outcome, Table, at_most, ratio, spread, times

LIMITS = {"dibs --version": 3.0, "dibs claim": 4.0, "dibs complete": 4.0}
BARE = "python -c pass"
PLAIN = as_installed()


def run(plan: Plan) -> Outcome:
    """`rounds` does not matter here: a round is one run of each command, and there are `cli_runs` of them."""
    outcome = Outcome("cli")
    names = (BARE, *LIMITS)
    results = {name: Series(count=plan.size.cli_runs) for name in names}
    path = scratch(plan.folder)
    try:
        _rounds(path, plan.size.cli_runs, results, plan.say)
    except (OSError, RuntimeError, ValueError, LookupError) as error:
        outcome.faults.append(f"dibs on the command line: {type(error).__name__}: {error}")
    outcome.tables = [_table(results)]
    bare = results[BARE].median
    for name, limit in LIMITS.items():
        outcome.goals.append(at_most(f"`{name}` against `{BARE}`", ratio(results[name].median, bare), limit))
    outcome.data = {name: series.to_json() for name, series in results.items()}
    return outcome


def _rounds(path: str, runs: int, results: dict[str, Series], say: Callable[[str], None]) -> None:
    dibs, queue = script("dibs"), f"{path}/queue"
    for number in range(runs + 2):
        _timed([dibs, "push", queue, json.dumps({"n": number})])
    say(f"{runs} runs of each command")
    for number in range(runs + 1):
        spent = {BARE: _timed([sys.executable, "-c", "pass"])[0]}
        spent["dibs --version"] = _timed([dibs, "--version"])[0]
        spent["dibs claim"], out = _timed([dibs, "claim", queue, "--json"])
        lease = json.loads(out.splitlines()[0])
        spent["dibs complete"] = _timed([dibs, "complete", queue, lease["id"], "--epoch", str(lease["epoch"])])[0]
        if number:  # the first round warms the caches
            for name, seconds in spent.items():
                results[name].values.append(seconds)


def _timed(command: list[str]) -> tuple[float, str]:
    begun = time.perf_counter()
    done = subprocess.run(command, env=PLAIN, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    spent = time.perf_counter() - begun
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr.strip()[-300:]}")
    return spent, done.stdout


def _table(results: dict[str, Series]) -> Table:
    table = Table("Commands, ms", ["", "median", "spread", "against python -c pass", "runs"])
    bare = results[BARE].median
    for name, series in results.items():
        low, high = (min(series.values) * 1000, max(series.values) * 1000) if series.values else (None, None)
        median = "–" if series.median is None else f"{series.median * 1000:.1f}"
        table.rows.append(
            [name, median, spread(low, high, 1), f"{times(ratio(series.median, bare))}x", str(len(series.values))]
        )
    return table
