"""One worker of one clone: -m team.worker URL JOURNAL SEED TTL STOP HOST

As if on a machine of its own: HOST is its name, its boot time has nothing to do with that of the others, and its wall
clock may be an hour off. It claims, works and finishes until there is a file STOP. What returned, and that it believed
to hold a lease at a moment, it writes to its journal: a line of JSON by one write, with the boot time that all share.
"""

import json
import os
import random
import sys
import time

import dibs
from dibs.clock import SYSTEM, SystemClock
from dibs.host import Host, this_host
from dibs.queues.held import Lease
from dibs.stores.store import Unsure

STEP_SECONDS = 0.1


class OtherClock(SystemClock):
    def __init__(self, number: int) -> None:
        self._number = number

    def boottime(self) -> float:  # type: ignore[override]
        return SYSTEM.boottime() + 1000.0 * self._number

    def wall(self) -> float:
        return SYSTEM.wall() + (0.0, 3600.0, -3600.0)[self._number % 3]


class Journal:
    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)

    def note(self, what: str, lease: Lease | None = None, **more: object) -> None:
        of = {"spec": lease.id, "epoch": lease.epoch} if lease else {}
        line = {"what": what, **of, "at": SYSTEM.boottime(), **more}
        os.write(self._file, json.dumps(line).encode() + b"\n")


def work(lease: Lease, journal: Journal, rng: random.Random) -> None:
    """Shorter than the lease, or longer and renewed, or so long without a word that it runs out."""
    luck = rng.random()
    seconds = rng.random() * 0.3 if luck < 0.8 else lease.ttl * (0.5 if luck < 0.97 else 1.3)
    renews = luck < 0.97
    until = SYSTEM.boottime() + seconds
    renewed = SYSTEM.boottime()
    while SYSTEM.boottime() < until:
        time.sleep(STEP_SECONDS * rng.random())
        if renews and SYSTEM.boottime() - renewed > lease.ttl / 4:
            try:
                lease.renew()
                renewed = SYSTEM.boottime()
            except dibs.StorageError as error:
                journal.note("trouble", lease, error=str(error))
        believe(lease, journal)


def believe(lease: Lease, journal: Journal) -> None:
    at = SYSTEM.boottime()
    if lease.held:
        journal.note("holds", lease, at=at)


def finish(lease: Lease, journal: Journal, rng: random.Random) -> None:
    """A step that the remote refused is tried again until it is done or the lease is lost."""
    step = "released" if rng.random() < 0.05 else "completed"
    believe(lease, journal)
    journal.note("finishing", lease, step=step)
    while True:
        try:
            lease.release() if step == "released" else lease.complete({"by": os.getpid()})
            journal.note(step, lease)
            return
        except Unsure as error:
            journal.note("unsure", lease, error=str(error))
        except dibs.StorageError as error:
            journal.note("trouble", lease, error=str(error))


def main(url: str, path: str, seed: str, ttl: str, stop: str, name: str) -> None:
    journal, rng = Journal(path), random.Random(int(seed))
    host = Host(name, f"machine of {name}", f"boot of {name}", this_host().space)
    queue = dibs.open(url, host=host, clock=OtherClock(int(name[1:])))
    journal.note("begun")
    while True:
        try:
            lease = queue.claim(ttl=float(ttl))
        except dibs.StorageError as error:
            journal.note("trouble", error=str(error))
            continue
        if lease is None:
            if os.path.exists(stop):
                break
            journal.note("idle")
            time.sleep(STEP_SECONDS)
            continue
        journal.note("claimed", lease)
        try:
            work(lease, journal, rng)
            finish(lease, journal, rng)
        except dibs.LeaseLost as error:
            journal.note("lost", lease, error=str(error))
    queue.close()
    journal.note("ended")


if __name__ == "__main__":
    main(*sys.argv[1:])
