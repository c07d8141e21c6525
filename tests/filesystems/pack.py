"""Two machines and what they keep running, harmed at random: processes are killed or stopped, the power is cut."""

import os
import random
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from filesystems.hosts_roles import TTL
from hosts.machine import Machine

HOSTS = {"near": 0.0, "far": 3600.0}  # how wrong their clocks are
UP = {"near": 0.0, "far": 500_000.0}
_PAUSED = TTL * 1.7


class Pack:
    def __init__(self, machines: Sequence[Machine], rng: random.Random) -> None:
        self._machines = {machine.name: machine for machine in machines}
        self._rng = rng
        self._kept: dict[tuple[str, str], Sequence[str]] = {}
        self._stopped: dict[int, float] = {}
        self.kills = self.stops = self.cuts = 0

    @property
    def report(self) -> dict[str, Any]:
        ended = [line for machine in self._machines.values() for line in machine.ended()]
        return {"kills": self.kills, "stops": self.stops, "cuts": self.cuts, "ended by themselves": ended}

    def keep(self, machine: str, name: str, *words: str) -> None:
        self._kept[machine, name] = words
        self._machines[machine].keep(name, *words)

    def drop(self, prefix: str = "") -> None:
        for machine, name in [kept for kept in self._kept if kept[1].startswith(prefix)]:
            del self._kept[machine, name]
            self._machines[machine].drop(name)

    def harm(self) -> None:
        luck, machine = self._rng.random(), self._rng.choice(list(self._machines.values()))
        if luck < 0.25 or not self.kills:
            self.kills += self._signal(machine, signal.SIGKILL)
        elif luck < 0.28 or not self.cuts:
            self._cut_power(machine)
        elif (luck < 0.38 or not self.stops) and not self._stopped:
            self.stops += self._signal(machine, signal.SIGSTOP)
        for pid, until in list(self._stopped.items()):
            if time.monotonic() > until:
                self._go_on(pid)

    def _signal(self, machine: Machine, number: signal.Signals) -> int:
        """Any process may be the one: a worker, what it runs, or who keeps its leases."""
        pids = machine.pids()
        if not pids:
            return 0
        pid = self._rng.choice(sorted(pids))
        with suppress(ProcessLookupError):
            os.kill(pid, number)
            if number == signal.SIGSTOP:
                self._stopped[pid] = time.monotonic() + _PAUSED
            return 1
        return 0

    def _cut_power(self, machine: Machine) -> None:
        self.cuts += 1
        machine.cut_power()
        machine.boot()
        for (name, kept), words in self._kept.items():
            if name == machine.name:
                machine.keep(kept, *words)

    def _go_on(self, pid: int) -> None:
        del self._stopped[pid]
        with suppress(ProcessLookupError):  # it was killed meanwhile
            os.kill(pid, signal.SIGCONT)


@contextmanager
def machines(folder: Path) -> Iterator[list[Machine]]:
    """One of each name of HOSTS. `folder`: for their own files."""
    folder.mkdir()
    with ExitStack() as stack:
        yield [stack.enter_context(Machine(name, folder, wrong=wrong, up=UP[name])) for name, wrong in HOSTS.items()]


@contextmanager
def pack(folder: Path, seed: str) -> Iterator[Pack]:
    with machines(folder) as hosts:
        yield Pack(hosts, random.Random(int(seed)))
