"""The prefix of its own in which the doctor works; emptied when it is done."""

import random
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from dibs.clock import Clock
from dibs.doctor.buckets.driver import Bucket
from dibs.doctor.crew import Crew
from dibs.errors import StorageError

ACTS = "dibs.doctor.buckets.acts"
CREW = 5
_TRIES = 5


class Ground:
    def __init__(self, bucket: Bucket, crew: Crew, clock: Clock, *, quick: bool) -> None:
        self.bucket = bucket
        self.crew = crew
        self.clock = clock
        self.quick = quick
        self.figures: dict[str, float] = {}
        crew.all("ready")
        self.step = self._measured()

    def rounds(self, most: int) -> int:
        return max(8, min(most, int((1.0 if self.quick else 4.0) / self.step)))

    def at(self) -> float:
        return self.clock.boottime() + 0.05

    def written(self, key: str, body: str) -> bool:
        """Written, whatever the store said at first."""
        return any(self.bucket.put(key, body)[0] == "won" for _ in range(_TRIES))

    def tag(self, key: str) -> str:
        found = self.bucket.get(key)
        return "" if found is None else found.tag

    def _measured(self) -> float:
        taken = []
        for number in range(5):
            before = self.clock.boottime()
            self.bucket.put(f"first/{number}", "x")
            taken.append(self.clock.boottime() - before)
        self.figures["put_seconds"] = round(sorted(taken)[2], 4)
        return min(1.0, max(0.02, 2 * sorted(taken)[2]))


@contextmanager
def prepared(url: str, clock: Clock, rng: random.Random, *, quick: bool) -> Iterator[Ground]:
    folder = f"doctor-{rng.getrandbits(40):010x}"
    bucket = Bucket(url, folder)
    try:
        with Crew(ACTS, [url, folder], CREW, clock) as crew:
            yield Ground(bucket, crew, clock, quick=quick)
    finally:
        with suppress(StorageError):
            names = bucket.names()
            for start in range(0, len(names), 1000):
                bucket.delete(*names[start : start + 1000])
