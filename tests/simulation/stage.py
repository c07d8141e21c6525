"""Where the actors meet: the world, the truth, the queue, and what everybody knows."""

from typing import Any, Protocol

from dibs.task import Task

from .hands import Hands
from .keyring import Keyring
from .machines import SimHost
from .truth import Truth
from .world import Process, World


class Backend(Protocol):
    retention: float

    def open(self, process: Process, *, pid: int | None = None) -> Any: ...


class Stage:
    def __init__(self, world: World, truth: Truth, hands: Hands, backend: Backend, hosts: list[SimHost]) -> None:
        self.world = world
        self.rng = world.rng
        self.ttl = world.weather.ttl
        self.truth = truth
        self.hands = hands
        self.keyring = Keyring(world, truth)
        self.keyring.purging = backend.retention > 0
        self.backend = backend
        self.hosts = hosts
        self.pushed: list[Task] = []  # pushes that returned
        self.closing = False  # nobody starts anything new
        self.drainer: Process | None = None  # the one that works on when all is calm
        self.keys: tuple[str, ...] = ("a", "b")
        self.keyed = self.rng.choice((0.0, 0.2, 0.8))  # the share of pushes with a key
        self.plain = False  # then nothing is pushed but payloads
        self._pids = 100

    def found(self) -> None:
        """Somebody has created the queue before anything happens."""
        founder = Process(self.world, "founder", self.hosts[0], 1, lambda process: None)
        self.world.current = founder
        self.backend.open(founder)
        self.world.current = None

    def any_host(self) -> SimHost:
        return self.rng.choice(self.hosts)

    def start(self, name: str, host: SimHost, body: object, *, reuse: int = 0) -> Process:
        """A new process. Its id may be that of one that is dead."""
        self._pids += 1
        pid = reuse or self._pids
        process = Process(self.world, name, host, pid, body)  # type: ignore[arg-type]
        host.machinery.processes[pid] = (f"start-{self._pids}", process)
        self.world.processes.append(process)
        return process
