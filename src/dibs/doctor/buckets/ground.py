"""The prefix of its own in which the doctor works; emptied when it is done, and what others left that were killed."""

import random
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property

from dibs.clock import Clock
from dibs.doctor.buckets.driver import Bucket
from dibs.doctor.crew import Crew
from dibs.doctor.traces import is_left, new_name
from dibs.errors import StorageError

ACTS = "dibs.doctor.buckets.acts"
CREW = 5
PREFIX = "doctor-"
BUDGET_SECONDS = 24.0  # a fault is to be named while somebody waits; what a slow store has no time for is tried less
_TRIES = 5


class Ground:
    def __init__(self, bucket: Bucket, crew: Crew, clock: Clock, made: set[str], *, quick: bool) -> None:
        self.bucket = bucket
        self.crew = crew
        self.clock = clock
        self.quick = quick
        self.figures: dict[str, float] = {}
        self.words: list[str] = []  # what came of each plain write
        self._made = made
        self._until = clock.boottime() + BUDGET_SECONDS
        crew.all("ready")

    def rounds(self, most: int) -> int:
        """As many as there is time for."""
        seconds = min(1.0 if self.quick else 4.0, self.left() / 4)
        return max(4, min(most, int(seconds / self.step)))

    def at(self) -> float:
        return self.clock.boottime() + 0.05

    def left(self) -> float:
        """Seconds that may still be spent."""
        return max(0.0, self._until - self.clock.boottime())

    def will_make(self, keys: Iterable[str]) -> None:
        """Said before: a listing that lags would not show them when they are to be removed."""
        self._made.update(keys)

    def put(self, key: str, body: str) -> str:
        """What came of one try."""
        self.will_make([key])
        self.words.append(self.bucket.put(key, body)[0])
        return self.words[-1]

    def written(self, key: str, body: str) -> bool:
        """Written, whatever the store said at first."""
        return any(self.put(key, body) == "won" for _ in range(_TRIES))

    def tag(self, key: str) -> str:
        found = self.bucket.get(key)
        return "" if found is None else found.tag

    @cached_property
    def step(self) -> float:
        """The time between two rounds: enough for one to be over on this storage before the next begins."""
        taken = []
        for number in range(5):
            before = self.clock.boottime()
            self.put(f"first/{number}", "x")
            taken.append(self.clock.boottime() - before)
        self.figures["put_seconds"] = round(sorted(taken)[2], 4)
        return min(1.0, max(0.02, 2 * sorted(taken)[2]))


@contextmanager
def prepared(url: str, clock: Clock, rng: random.Random, *, quick: bool) -> Iterator[Ground]:
    folder = f"{PREFIX}{new_name(clock, rng)}"
    bucket = Bucket(url, folder, clock)
    made: set[str] = set()
    try:
        with Crew(ACTS, [url, folder], CREW, clock) as crew:
            yield Ground(bucket, crew, clock, made, quick=quick)
    finally:
        with suppress(StorageError):  # of a store that does not answer any more something stays
            _empty(bucket, made)
            _sweep(bucket, url, clock)


def _empty(bucket: Bucket, known: Iterable[str]) -> None:
    bucket.delete(*known)
    bucket.delete(*bucket.names())


def _sweep(bucket: Bucket, url: str, clock: Clock) -> None:
    """What doctors left that were killed."""
    for name in bucket.folders():
        if name.startswith(PREFIX) and is_left(name, clock):
            _empty(Bucket(url, name, clock), ())
