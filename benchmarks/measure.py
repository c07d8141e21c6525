"""Timing: a drain by worker processes that start together, rounds that alternate between contenders, medians.

A drain is timed from the moment the first worker passes the barrier to the last finished task, and every
task must have been handed out exactly once; what was doubled or lost is part of the result.
"""

import multiprocessing
import os
import statistics
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from benchmarks.contenders.contender import Contender
from benchmarks.payloads import number_of, payloads

_FORK = multiprocessing.get_context("fork")
DEADLINE_SECONDS = 300


@dataclass
class Drained:
    seconds: float
    count: int
    doubled: int = 0
    lost: int = 0
    processor_seconds: float = 0.0

    @property
    def rate(self) -> float:
        return self.count / self.seconds


@dataclass
class Series:
    """What one contender did, a value a round."""

    values: list[float] = field(default_factory=list)
    processor_us: list[float] = field(default_factory=list)  # a task, user and system
    count: int = 0
    doubled: int = 0
    lost: int = 0
    error: str = ""

    @property
    def median(self) -> float | None:
        return statistics.median(self.values) if self.values else None

    def to_json(self) -> dict[str, Any]:
        low, high = (min(self.values), max(self.values)) if self.values else (None, None)
        return {"median": self.median, "low": low, "high": high, "rounds": self.values} | {
            name: getattr(self, name) for name in ("processor_us", "count", "doubled", "lost", "error")
        }


def settle(count: int) -> None:
    """Have the fill written out before the clock starts; a few tasks leave nothing to wait for."""
    if count >= 5000:
        os.sync()


def scratch(folder: str) -> str:
    """An empty folder on the disk under test. It stays until the whole run is over: ext4 goes around inodes that
    were freed in the last minutes one by one, so removing one run's files would slow down the next one's pushes."""
    return tempfile.mkdtemp(prefix="run-", dir=folder)


def alternate(rounds: int, runs: dict[str, Callable[[], None]], say: Callable[[str], None]) -> None:
    """ABAB…: every contender once a round, so that a busy minute of the machine meets them all."""
    for number in range(rounds):
        for name, run in runs.items():
            say(f"round {number + 1} of {rounds}: {name}")
            run()


def drain(contender: Contender, folder: str, count: int, processes: int) -> Drained:
    """Fill, start the workers, let them go together; the fill is not timed."""
    path = scratch(folder)
    filler = _FORK.Process(target=contender.fill, args=(path, payloads(count)))
    filler.start()
    filler.join()
    if filler.exitcode:
        raise RuntimeError(f"{contender.name}: filling {count} tasks failed (exit code {filler.exitcode})")
    settle(count)
    barrier = _FORK.Barrier(processes)
    pipes = [_FORK.Pipe(duplex=False) for _ in range(processes)]
    workers = [
        _FORK.Process(target=_work, args=(contender, path, rank, processes, barrier, pipe[1]))
        for rank, pipe in enumerate(pipes)
    ]
    for worker in workers:
        worker.start()
    try:
        heard = [_receive(contender, pipe[0]) for pipe in pipes]
    finally:
        for worker in workers:
            worker.join(5)
            if worker.is_alive():
                worker.kill()
    errors = sorted((word for word in heard if isinstance(word, str)), key=lambda word: word.startswith(BROKEN))
    if errors:
        raise RuntimeError(f"{contender.name}: {errors[0]}")
    outcomes = [word for word in heard if not isinstance(word, str)]
    seen = Counter(number for outcome in outcomes for number in outcome[2])
    begun = min(outcome[0] for outcome in outcomes)
    ended = max(outcome[1] for outcome in outcomes)
    return Drained(
        seconds=ended - begun,
        count=count,
        doubled=sum(times - 1 for times in seen.values()),
        lost=count - len(seen),
        processor_seconds=sum(outcome[3] for outcome in outcomes),
    )


BROKEN = "BrokenBarrierError"  # another worker broke; what it says is the reason


def _receive(contender: Contender, pipe: Any) -> tuple[float, float, list[int], float] | str:
    """What a worker did, or what went wrong."""
    if not pipe.poll(DEADLINE_SECONDS):
        raise RuntimeError(f"{contender.name}: not drained within {DEADLINE_SECONDS} s")
    try:
        outcome = pipe.recv()
    except EOFError:
        raise RuntimeError(f"{contender.name}: a worker ended without a word") from None
    return outcome  # type: ignore[no-any-return]


def _work(contender: Contender, path: str, rank: int, ranks: int, barrier: Any, pipe: Any) -> None:
    try:
        handle = contender.open(path, rank, ranks)
        seen: list[Any] = []
        keep = seen.append
        clock = time.perf_counter
        barrier.wait(60)
        spent = time.process_time()
        begun = last = clock()
        for payload in contender.drain(handle):
            keep(payload)
            last = clock()
        spent = time.process_time() - spent
        pipe.send((begun, last, [number_of(payload) for payload in seen], spent))
    except BaseException as error:
        barrier.abort()
        pipe.send(f"{type(error).__name__}: {error} {traceback.format_exc(limit=-1).splitlines()[1].strip()}")
