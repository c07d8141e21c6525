"""The folder of its own in which the doctor works, below the place that it looks at; gone when it is done."""

import os
import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from dibs.clock import Clock
from dibs.doctor.crew import Crew
from dibs.stores.refusal import refusals

PREFIX = ".dibs-doctor-"
ACTS = "dibs.doctor.folders.acts"
CREW = 6
_LEFT_SECONDS = 86400.0


class Ground:
    """`step` is the time between two rounds: enough for one to be over on this storage before the next begins."""

    def __init__(self, folder: str, crew: Crew, clock: Clock, rng: random.Random, *, quick: bool) -> None:
        self.folder = folder
        self.crew = crew
        self.clock = clock
        self.rng = rng
        self.quick = quick
        self.figures: dict[str, float] = {}
        self.needs_locks = True
        self.step = self._measured()

    def sub(self, name: str) -> str:
        """A new folder in it."""
        path = f"{self.folder}/{name}"
        os.makedirs(path, exist_ok=True)
        return path

    def write(self, path: str, data: bytes = b"dibs\n") -> str:
        with open(path, "wb", buffering=0) as file:
            file.write(data)
        return path

    def rounds(self, most: int) -> int:
        """As many as there is time for: about three seconds of them, or half a second."""
        return max(10, min(most, int((0.5 if self.quick else 3.0) / self.step)))

    def at(self, ahead: float = 0.05) -> float:
        return self.clock.boottime() + ahead

    def _measured(self) -> float:
        folder = self.sub("first")
        taken = []
        for number in range(7):
            before = self.clock.boottime()
            os.rename(self.write(f"{folder}/{number}"), f"{folder}/{number}-moved")
            taken.append(self.clock.boottime() - before)
        return min(0.5, max(0.004, 3 * sorted(taken)[3]))


@contextmanager
def prepared(place: str, clock: Clock, rng: random.Random, *, quick: bool, code: str = "") -> Iterator[Ground]:
    """Work below `place`, which need not be there yet: then beside where it would be."""
    above = existing(place)
    folder = f"{above}/{PREFIX}{code or f'{rng.getrandbits(40):010x}'}"
    try:
        with refusals(above):
            _sweep(above, clock)
            os.makedirs(folder, exist_ok=bool(code))
        with refusals(folder), Crew(ACTS, folder, CREW, clock) as crew:
            yield Ground(folder, crew, clock, rng, quick=quick)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def existing(place: str) -> str:
    """The place, or the nearest folder above that is there."""
    path = os.path.abspath(place)
    while not os.path.isdir(path):
        path = os.path.dirname(path)
    return path


def _sweep(above: str, clock: Clock) -> None:
    """What a doctor left that was killed, a day ago or more."""
    for name in os.listdir(above):
        path = f"{above}/{name}"
        if name.startswith(PREFIX) and os.path.isdir(path):
            with suppress(OSError):
                if clock.wall() - os.stat(path).st_mtime > _LEFT_SECONDS:
                    shutil.rmtree(path, ignore_errors=True)
