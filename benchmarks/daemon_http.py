"""Claim + complete through a daemon: eight workers over HTTP, one task at a time, on a queue of files.

Beside it stands what the HTTP stack alone can do: the same client asks the same server, as often, for an answer that
costs nothing. Run by itself with `python -m benchmarks.daemon_http`.
"""

import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.children import environment
from benchmarks.payloads import payloads
from benchmarks.plan import SIZES, Plan
from benchmarks.report import Goal, Outcome, Table, at_least, per_second, spread

WORKERS = 8
REQUESTS = 2  # a task, by whoever asks for nothing too
WANTED = 2000.0
SHARE = 0.4
_FORK = multiprocessing.get_context("fork")
_SERVE = "import sys; from dibs.cli import main; sys.exit(main(sys.argv[1:]))"


def run(plan: Plan) -> Outcome:
    outcome = Outcome("daemon over HTTP")
    rates: dict[str, list[float]] = {name: [] for name in WAYS}
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in WAYS}
    with serving(plan.folder) as (url, pid):
        for number in range(plan.rounds):
            for name, way in WAYS.items():
                plan.say(f"round {number + 1} of {plan.rounds}: {name}")
                rate, *processor = _round(url, pid, way, plan.size.drain_tasks, outcome)
                rates[name].append(rate)
                spent[name].append((processor[0], processor[1]))
    columns = ["", "tasks/s", "spread", "of what HTTP alone does", "processor µs a task: daemon", "workers"]
    table = Table(f"{WORKERS} workers over HTTP, tasks/s", columns)
    for name, found in rates.items():
        share = statistics.median(one / other for one, other in zip(found, rates[NOTHING], strict=True))
        row = [name, per_second(statistics.median(found)), spread(min(found), max(found)), f"{share:.2f}"]
        table.rows.append([*row, *(f"{statistics.median(column):.0f}" for column in zip(*spent[name], strict=True))])
        outcome.data[name] = {"rounds": found, "median": statistics.median(found), "share": share}
    table.notes.append(f"`{NOTHING}`: {REQUESTS} requests count as a task; they reach no queue")
    outcome.tables.append(table)
    outcome.goals.append(_goal(outcome.data))
    return outcome


def _goal(data: dict[str, Any]) -> Goal:
    best, share = data[APART]["median"], data[APART]["share"]
    if best >= WANTED:
        return at_least(f"claim + complete, {WORKERS} workers", best, WANTED, " tasks/s")
    return at_least(f"claim + complete, {WORKERS} workers, share of what HTTP alone does", share, SHARE)


@contextmanager
def serving(folder: str) -> Iterator[tuple[str, int]]:
    """A daemon over an empty queue on the disk under test: the queue's URL, and its process."""
    place = os.path.abspath(tempfile.mkdtemp(prefix="daemon-", dir=folder))
    words = ["serve", f"file:{place}/q", "--listen", "127.0.0.1:0", "--socket", "none", "--json"]
    clean = {name: value for name, value in environment().items() if not name.startswith("DIBS_")}
    daemon = subprocess.Popen(
        [sys.executable, "-c", _SERVE, *words, "--token", f"{place}/token"],
        stdout=subprocess.PIPE, text=True, env=clean, cwd=place,
    )  # fmt: skip
    try:
        assert daemon.stdout is not None
        told = json.loads(daemon.stdout.readline())
        with open(f"{place}/token", encoding="ascii") as file:
            yield f"{told['url']}/q?token={file.readline().strip()}", daemon.pid
    finally:
        daemon.terminate()
        daemon.communicate(timeout=60)


def _processor_seconds(pid: int) -> float:
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        user, system = file.read().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _round(
    url: str, pid: int, way: Callable[[Any, int], int], count: int, outcome: Outcome
) -> tuple[float, float, float]:
    """(tasks/s, processor µs a task in the daemon, and in the workers)"""
    import dibs

    with dibs.open(url) as queue:
        if way is not _nothing:
            queue.push_many(json.loads(data) for data in payloads(count))
        before = queue.stats().states.get("completed", 0)
    used = _processor_seconds(pid)
    barrier = _FORK.Barrier(WORKERS)
    pipes = [_FORK.Pipe(duplex=False) for _ in range(WORKERS)]
    workers = [_FORK.Process(target=_work, args=(url, way, count // WORKERS, barrier, pipe[1])) for pipe in pipes]
    for worker in workers:
        worker.start()
    heard = [pipe[0].recv() for pipe in pipes]
    for worker in workers:
        worker.join(10)
    used = _processor_seconds(pid) - used
    done = sum(one[2] for one in heard)
    if way is not _nothing:
        with dibs.open(url) as queue:
            states = queue.stats().states
        if states.get("completed", 0) - before != count or done != count:
            outcome.faults.append(f"{count} tasks were pushed, {done} completed; the queue says {dict(states)}")
    seconds = max(one[1] for one in heard) - min(one[0] for one in heard)
    return done / seconds, used / done * 1e6, sum(one[3] for one in heard) / done * 1e6


def _work(url: str, way: Callable[[Any, int], int], share: int, barrier: Any, pipe: Any) -> None:
    import dibs

    with dibs.open(url) as queue:
        barrier.wait(60)
        spent, begun = time.process_time(), time.perf_counter()
        done = way(queue, share)
        pipe.send((begun, time.perf_counter(), done, time.process_time() - spent))


def _apart(queue: Any, share: int) -> int:
    done = 0
    while (lease := queue.claim()) is not None:
        lease.complete()
        done += 1
    return done


def _chained(queue: Any, share: int) -> int:
    done = 0
    lease = queue.claim()
    while lease is not None:
        lease = queue.complete_and_claim(lease)
        done += 1
    return done


def _nothing(queue: Any, share: int) -> int:
    for _ in range(share * REQUESTS):
        queue._connections.nothing()
    return share


APART, CHAINED, NOTHING = "claim, then complete", "the next claim together with the completion", "HTTP alone"
WAYS: dict[str, Callable[[Any, int], int]] = {APART: _apart, CHAINED: _chained, NOTHING: _nothing}


def main() -> int:
    size = SIZES[os.environ.get("SIZE", "small")]
    with tempfile.TemporaryDirectory(prefix="dibs-bench-", dir=os.environ.get("DIR", ".")) as folder:
        plan = Plan(size, folder, max(size.rounds, 3), lambda line: print(line, file=sys.stderr))
        outcome = run(plan)
    for table in outcome.tables:
        print(table.render())
    for goal in outcome.goals:
        print(f"{goal.text}: wanted {goal.wanted}, found {goal.found}: {goal.verdict}")
    for fault in outcome.faults:
        print(f"FAULT: {fault}", file=sys.stderr)
    return 1 if outcome.faults else 0


if __name__ == "__main__":
    sys.exit(main())
