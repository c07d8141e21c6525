"""What several hosts do together: a plan in the shared folder, by the file server's clock, so that no two clocks of
hosts are compared and no host waits for another's files while a race is on.

    hello-NAME.json    a host that takes part
    plan.json          when which race begins
    answers-NAME.json  what that host was told in each
    gone-NAME.json     it has left before that
"""

import os
import random
from typing import Any

from dibs.clock import Clock
from dibs.errors import BadInput
from dibs.task import decode, encode
from dibs.values import dataclass

RACES = ("create", "link", "rename", "marked")
CREW = 4
POLL_SECONDS = 0.1
ANSWER_SECONDS = 90.0
SETTLE_SECONDS = 1.0  # between two races
LOOK_SECONDS = 14.0  # for what one host makes and another looks for
NEW, OLD = "seen/new", "seen/old"
HELLO, ANSWERS, GONE = "hello-", "answers-", "gone-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    at: float  # the first race, on the file server's clock
    count: int
    step: float

    def start(self, number: int) -> float:
        """Of the `number`-th: the races, then the lock, then the look."""
        return self.at + number * (self.count * self.step + SETTLE_SECONDS)

    def race(self, act: str, offset: float) -> dict[str, Any]:
        """Of what takes several requests there are fewer rounds, further apart."""
        many = 4 if act == "marked" else 1
        at = self.start(RACES.index(act)) - offset
        return {"count": self.count // many, "at": at, "step": self.step * many}

    def additions(self, offset: float) -> dict[str, Any]:
        """Likewise."""
        return {"count": self.count // 4, "at": self.start(len(RACES)) - offset, "step": self.step * 4}

    def to_json(self) -> dict[str, Any]:
        return {"at": self.at, "count": self.count, "step": self.step}


def server_offset(folder: str, clock: Clock, rng: random.Random) -> float:
    """The file server's time less boottime. Where its stamps are coarse, taken when one changes."""
    path = f"{folder}/clock-{rng.getrandbits(40):010x}"
    until = clock.boottime() + 2.5
    first: float | None = None
    while True:
        with open(path, "wb"):
            os.utime(path)
        stamp, now = os.stat(path).st_mtime, clock.boottime()
        if (first is not None and stamp != first) or now > until:
            os.unlink(path)
            return stamp - now
        first = stamp


def put(folder: str, name: str, record: dict[str, Any]) -> None:
    """Whole or not at all."""
    with open(f"{folder}/{name}.new", "wb") as file:
        file.write(encode(record))
    os.rename(f"{folder}/{name}.new", f"{folder}/{name}")


def named(folder: str, prefix: str) -> list[str]:
    return [name for name in os.listdir(folder) if name.startswith(prefix) and name.endswith(".json")]


def present(folder: str) -> list[str]:
    """The hellos of those who have not left."""
    gone = {name.replace(GONE, HELLO, 1) for name in named(folder, GONE)}
    return [name for name in named(folder, HELLO) if name not in gone]


def get(folder: str, name: str) -> dict[str, Any] | None:
    """By listing first: asking for a name that is not there yet may be remembered as "not there"."""
    if name not in os.listdir(folder):
        return None
    try:
        with open(f"{folder}/{name}", "rb") as file:
            record: dict[str, Any] = decode(file.read())
            return record
    except (FileNotFoundError, BadInput):
        return None
