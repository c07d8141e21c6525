"""Many schedules, on several cores; the first violation ends the run."""

import gc
import multiprocessing
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from .schedule import Outcome, run

LOT = 100


@dataclass(slots=True)
class Tally:
    schedules: int = 0
    events: int = 0
    steps: Counter[str] = field(default_factory=Counter)
    troubles: Counter[str] = field(default_factory=Counter)
    violated: list[tuple[int, str, str]] = field(default_factory=list)  # seed, kind, text

    def add(self, outcome: Outcome) -> None:
        self.schedules += 1
        self.events += outcome.events
        self.steps.update(outcome.steps)
        self.troubles.update(outcome.troubles)
        if outcome.violation is not None:
            self.violated.append((outcome.seed, outcome.violation.kind, str(outcome.violation)))

    def __iadd__(self, other: "Tally") -> "Tally":
        self.schedules += other.schedules
        self.events += other.events
        self.steps += other.steps
        self.troubles += other.troubles
        self.violated += other.violated
        return self


def lot(job: tuple[str, int, int]) -> Tally:
    """One after another: (backend, first seed, how many)."""
    backend, first, count = job
    tally = Tally()
    gc.disable()  # schedules are short, and what they leave is collected in between
    try:
        for seed in range(first, first + count):
            tally.add(run(seed, backend))
    finally:
        gc.enable()
        gc.collect()
    return tally


def tallies(backend: str, first: int, schedules: int, jobs: int) -> Iterator[Tally]:
    """A tally per lot, as they get done."""
    lots = [(backend, start, min(LOT, first + schedules - start)) for start in range(first, first + schedules, LOT)]
    if jobs == 1:
        yield from map(lot, lots)
        return
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        yield from pool.imap_unordered(lot, lots)
