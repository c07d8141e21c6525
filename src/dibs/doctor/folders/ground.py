"""The folder of its own in which the doctor works, below the place that it looks at; gone when it is done."""

import os
import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from dibs.clock import Clock
from dibs.doctor.crew import Crew
from dibs.doctor.folders.mounts import existing
from dibs.doctor.traces import LEFT_SECONDS, is_left, new_name
from dibs.stores.refusal import refusals

PREFIX = ".dibs-doctor-"
ACTS = "dibs.doctor.folders.acts"
CREW = 6
OWNER = "owner"
_REMOVE_TRIES = 10


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
        self.stamps_go = True  # as far as it is known
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
    above, name = existing(place), new_name(clock, rng)
    folder = f"{above}/{PREFIX}{code or name}"
    try:
        with refusals(above):
            os.makedirs(folder, exist_ok=bool(code))
            with open(f"{folder}/{OWNER}", "w", encoding="ascii") as file:
                file.write(f"{name}\n")
        with refusals(folder), Crew(ACTS, folder, CREW, clock) as crew:
            yield Ground(folder, crew, clock, rng, quick=quick)
    finally:
        with suppress(OSError):
            _sweep(above, folder, clock)
        _remove(folder, clock)


def _remove(folder: str, clock: Clock) -> None:
    """More than once: what another host, or a process that was just ended, has open stays for a moment on a share."""
    for _ in range(_REMOVE_TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.isdir(folder):
            return
        clock.sleep(0.1)


def _sweep(above: str, ours: str, clock: Clock) -> None:
    """What a doctor left that was killed. At the end: its processes may have gone on for a while."""
    for name in os.listdir(above):
        path = f"{above}/{name}"
        if name.startswith(PREFIX) and path != ours and os.path.isdir(path):
            with suppress(OSError):
                old = os.stat(ours).st_mtime - os.stat(path).st_mtime > LEFT_SECONDS
                if old or is_left(_owner(path), clock):
                    _remove(path, clock)


def _owner(path: str) -> str:
    try:
        with open(f"{path}/{OWNER}", encoding="ascii") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return ""
