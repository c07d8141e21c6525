"""One schedule: chaos by the weather of its seed, then calm, in which everything that can be done must get done."""

from dataclasses import dataclass, field

from . import machines
from .bouncing import BouncingBackend, BouncingCast
from .cast import Cast, KeyWarCast, LockCast, OrderWarCast, QueueCast, SeedWarCast
from .directory_backend import DirectoryBackend
from .files_backend import FilesBackend
from .files_store_backend import FileStoreBackend
from .hands import Hands
from .locks import LocksBackend
from .loose import MarkedBackend
from .machines import SimHost, new_host
from .seams import seams
from .share_backend import ShareBackend
from .specs_backend import SpecsBackend
from .stage import Stage
from .stored_backend import StoredBackend
from .truth import Truth, show
from .world import EPOCH, Process, Violation, World

BACKENDS: dict[str, tuple[type, type]] = {
    "files": (FilesBackend, QueueCast),
    "stored": (StoredBackend, QueueCast),
    "stored-on-files": (FileStoreBackend, QueueCast),
    "directory": (DirectoryBackend, QueueCast),
    "directory-share": (ShareBackend, QueueCast),
    "specs": (SpecsBackend, QueueCast),
    "files-keys": (FilesBackend, KeyWarCast),
    "stored-keys": (StoredBackend, KeyWarCast),
    "stored-seeds": (StoredBackend, SeedWarCast),
    "files-order": (FilesBackend, OrderWarCast),
    "files-marked": (MarkedBackend, QueueCast),
    "files-marked-order": (MarkedBackend, OrderWarCast),
    "markers": (BouncingBackend, BouncingCast),
    "specs-order": (SpecsBackend, OrderWarCast),
    "locks": (LocksBackend, LockCast),
}
EVENTS = 120
PATIENCE_TTLS = 12
FAR_AHEAD = 1e9


@dataclass(slots=True)
class Outcome:
    seed: int
    backend: str
    violation: Violation | None
    trace: list[str] = field(default_factory=list)
    events: int = 0
    seconds: float = 0.0  # simulated
    steps: dict[str, int] = field(default_factory=dict)
    troubles: dict[str, int] = field(default_factory=dict)


def run(seed: int, backend: str = "files", *, trace: bool = False, variant: type | None = None) -> Outcome:
    """Run one schedule. `variant` is a class to use instead of the backend's own: a broken one."""
    make, cast = BACKENDS[backend]
    world = World(f"{backend} {seed}", trace=trace)
    play = _Play(world, variant or make, cast)
    with seams(world, play.stage.backend):
        try:
            play.chaos()
            play.calm()
            play.aftermath()
        except Violation as violation:
            world.failed(violation)
        finally:
            world.end()
    outcome = Outcome(seed, backend, world.violation, world.trace, world.events, world.now - EPOCH)
    outcome.troubles = world.troubles
    for steps in play.truth.steps.values():
        for step in steps:
            outcome.steps[step.name] = outcome.steps.get(step.name, 0) + 1
    return outcome


class _Play:
    def __init__(self, world: World, backend: type, cast: type) -> None:
        rng = world.rng
        self.world = world
        self.truth = Truth(world)
        hands = Hands(world, self.truth)
        hosts = [new_host(number, rng) for number in range(rng.choice((1, 2, 2, 3)))]
        self.stage = Stage(world, self.truth, hands, backend(world, self.truth), hosts)
        self.cast: Cast = cast(self.stage)
        self._spares = rng.choice((0, 1, 2))
        world.on_death = self._died
        world.on_reboot = self._reboot
        world.on_jump = lambda: machines.jump(self.stage.any_host(), rng)

    def chaos(self) -> None:
        self.stage.found()
        self.cast.enter()
        self.world.run(lambda: self.world.events >= EVENTS)

    def calm(self) -> None:
        """One worker goes on alone; everything that can be done must get done."""
        world, stage = self.world, self.stage
        world.weather.calm()
        world.say("calm")
        stage.drainer = self.cast.drainer()
        awake = (stage.drainer, getattr(stage.drainer.body, "guard_process", None))
        asleep = [process for process in world.processes if process not in awake]
        for process in getattr(stage.backend, "in_the_way", list)():
            if process in asleep:  # stopped for good with a lock in its hand: nobody can help that
                world.kill(process)
        for process in asleep:
            process.wake += FAR_AHEAD
        until = world.now + PATIENCE_TTLS * stage.ttl + 300
        world.run(lambda: world.now >= until or not self.cast.left())
        for process in asleep:
            process.wake -= FAR_AHEAD
        if world.violation is None and (left := self.cast.left()):
            raise Violation("stuck", "; ".join(f"{name} is {show(cell)}" for name, cell in left.items()))

    def aftermath(self) -> None:
        """Whoever was asleep wakes up, finds everything done, and must change nothing."""
        stage = self.stage
        stage.closing = True
        self.world.run(lambda: False)
        for task in stage.pushed:
            if not self.truth.known(task.id):
                raise Violation("lost", f"task {task.id} was pushed and is nowhere")
            if self.truth.completions(task.id) > 1:
                raise Violation("completed twice", f"task {task.id}")
        stage.keyring.check_end()

    def _died(self, process: Process) -> None:
        if process not in self.cast.workers or self._spares <= 0:
            return
        self._spares -= 1
        host = next(host for host in self.stage.hosts if host.name == process.host.name)
        self.cast.replace(process, host, process.pid if self.world.random() < 0.3 else 0)

    def _reboot(self, host: SimHost) -> None:
        """Power cut: every process of the host dies, and it comes back with another boot id."""
        hosts = self.stage.hosts
        if host not in hosts:
            return
        self.world.say(f"{host.name} reboots")
        hosts[hosts.index(host)] = host.rebooted(self.world.rng)
        for process in list(self.world.processes):
            if process.host is host and process.alive and not process.over:
                self.world.kill(process)
