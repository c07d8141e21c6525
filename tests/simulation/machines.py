"""Hosts and their clocks. Boottime never steps but differs in origin and, a little, in rate; wall clocks are
wrong by up to an hour and jump."""

import random
from dataclasses import dataclass, field

from dibs.host import Host

from .world import EPOCH, Process, World

HOUR = 3600.0


@dataclass(slots=True)
class Machine:
    """What one boot of a host has of its own."""

    origin: float  # boottime when true time began
    rate: float
    skew: float  # of the wall clock
    processes: dict[int, tuple[str, Process]] = field(default_factory=dict)


class SimHost(Host):
    def __init__(self, name: str, machine: str, boot: str, space: str, machinery: Machine) -> None:
        super().__init__(name, machine, boot, space)
        self.machinery = machinery

    def process_gone(self, pid: int, start: str) -> bool:
        known = self.machinery.processes.get(pid)
        return known is None or known[0] != start or not known[1].alive or known[1].over

    def started(self, pid: int) -> str:
        known = self.machinery.processes.get(pid)
        return "" if known is None else known[0]

    def boottime(self, now: float) -> float:
        machine = self.machinery
        return machine.origin + (now - EPOCH) * machine.rate

    def rebooted(self, rng: random.Random) -> "SimHost":
        machine = Machine(rng.uniform(1, 50), self.machinery.rate, self.machinery.skew)
        return SimHost(self.name, self.machine, f"boot-{rng.getrandbits(32):x}", self.space, machine)


def new_host(number: int, rng: random.Random) -> SimHost:
    machine = Machine(rng.uniform(10, 1e6), rng.uniform(0.993, 1.007), rng.uniform(-HOUR, HOUR))
    name = f"h{number}"
    return SimHost(name, f"machine-{name}", f"boot-{name}", "pid:1", machine)


def jump(host: SimHost, rng: random.Random) -> None:
    host.machinery.skew = rng.uniform(-HOUR, HOUR)


class SimClock:
    """The clocks that one process reads."""

    def __init__(self, world: World, host: SimHost) -> None:
        self._world = world
        self._host = host

    def boottime(self) -> float:
        self._world.point("boottime")
        return self._host.boottime(self._world.now)

    def wall(self) -> float:
        return self._world.now + self._host.machinery.skew

    def sleep(self, seconds: float) -> None:
        self._world.sleep(seconds / self._host.machinery.rate)
