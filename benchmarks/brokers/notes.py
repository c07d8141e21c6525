"""Reading what `noop` noted: how many ran, when the first and the last, and which ran twice or never."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.brokers.noop import SLOT

POLL_SECONDS = 0.02


@dataclass
class Ran:
    count: int
    first: float
    last: float
    doubled: int
    lost: int

    @property
    def rate(self) -> float:
        return (self.count - 1) / (self.last - self.first)


def prepare(folder: str, count: int) -> None:
    os.makedirs(folder)
    with open(f"{folder}/ran", "wb") as file:
        file.write(bytes(count))


def wait(folder: str, count: int, alive: Callable[[], str | None], deadline_seconds: float) -> Ran:
    """Poll until all have run. RuntimeError when the workers end before that, or take too long."""
    end = time.monotonic() + deadline_seconds
    while True:
        trouble = alive()
        ran = read(folder)
        if ran.count >= count:
            return ran
        if trouble is not None:
            raise RuntimeError(f"{ran.count} of {count} tasks ran; {trouble}")
        if time.monotonic() > end:
            raise RuntimeError(f"{ran.count} of {count} tasks ran in {deadline_seconds:.0f} s")
        time.sleep(POLL_SECONDS)


def read(folder: str) -> Ran:
    slots = []
    for entry in os.scandir(folder):
        if entry.name.startswith("slot-"):
            with open(entry.path, "rb") as file:
                data = file.read(SLOT.size)
            if len(data) == SLOT.size:
                slots.append(SLOT.unpack(data))
    slots = [slot for slot in slots if slot[2]]
    with open(f"{folder}/ran", "rb") as file:
        times = file.read()
    return Ran(
        count=sum(slot[2] for slot in slots),
        first=min((slot[0] for slot in slots), default=0.0),
        last=max((slot[1] for slot in slots), default=0.0),
        doubled=sum(number - 1 for number in times if number),
        lost=times.count(0),
    )
