"""One schedule: chaos by the weather of its seed, then calm, in which everything that can be done must get done."""

from dataclasses import dataclass, field

from dibs.errors import TaskNotFound
from dibs.states import Cell, State

from . import machines
from .actors import Guarding, Meddler, Producer, Shell, Worker, drain_once, open_queue
from .files_backend import FilesBackend
from .hands import Hands
from .machines import SimHost, new_host
from .seams import seams
from .stage import Stage
from .stored_backend import StoredBackend
from .truth import Truth, show
from .world import Process, Violation, World

BACKENDS = {"files": FilesBackend, "stored": StoredBackend}
EVENTS = 120
PATIENCE_TTLS = 12


@dataclass(slots=True)
class Outcome:
    seed: int
    backend: str
    violation: Violation | None
    trace: list[str] = field(default_factory=list)
    events: int = 0
    seconds: float = 0.0  # simulated
    tasks: int = 0
    completed: int = 0


def run(seed: int, backend: str = "files", *, trace: bool = False, make: type | None = None) -> Outcome:
    """Run one schedule. `make` is a backend to use instead, for broken variants."""
    world = World(f"{backend} {seed}", trace=trace)
    with seams(world):
        play = _Play(world, make or BACKENDS[backend])
        try:
            play.chaos()
            play.calm()
            play.aftermath()
        except Violation as violation:
            world.failed(violation)
        finally:
            world.end()
    outcome = Outcome(seed, backend, world.violation, world.trace, world.events, world.now - 1.7e9)
    outcome.tasks = len(play.truth.steps)
    outcome.completed = sum(step.name == "complete" for steps in play.truth.steps.values() for step in steps)
    return outcome


class _Play:
    def __init__(self, world: World, backend: type) -> None:
        rng = world.rng
        self.world = world
        self.truth = Truth(world)
        hands = Hands(world, self.truth)
        hosts = [new_host(number, rng) for number in range(rng.choice((1, 2, 2, 3)))]
        self.stage = Stage(world, self.truth, hands, backend(world, self.truth), hosts)
        world.on_death = self._died
        world.on_reboot = self._reboot
        world.on_jump = lambda: machines.jump(rng.choice(self.stage.hosts), rng)
        self._workers: list[Process] = []
        self._respawn = rng.choice((0, 1, 2))

    def chaos(self) -> None:
        stage, rng = self.stage, self.world.rng
        founder = Process(self.world, "founder", stage.hosts[0], 1, lambda process: None)
        self.world.current = founder
        stage.backend.open(founder)
        self.world.current = None
        for number in range(rng.choice((1, 1, 2))):
            stage.start(f"push{number}", self._host(), Producer(stage, 2 + int(rng.random() * 3)))
        for _ in range(2 + int(rng.random() * 2)):
            self._start_worker()
        if rng.random() < 0.5:
            purges = rng.random() < 0.4
            stage.start("meddler", self._host(), Meddler(stage, 4, purges=purges))
        if rng.random() < 0.2:
            stage.start("shell", self._host(), Shell(stage, 3))
        self.world.run(lambda: self.world.events >= EVENTS)

    def calm(self) -> None:
        """One worker goes on alone; everything that can be done must get done."""
        world, stage = self.world, self.stage
        world.weather.calm()
        world.say("calm")
        willing = [process for process in self._workers if process.alive and not process.over]
        if willing and world.random() < 0.5:
            stage.drainer = world.rng.choice(willing)
        else:
            stage.drainer = stage.start("calm", self._host(), self._drain)
        mates = (stage.drainer, getattr(stage.drainer.body, "guard_process", None))
        others = [process for process in world.processes if process not in mates]
        until = world.now + PATIENCE_TTLS * stage.ttl + 300
        for process in others:
            process.wake += 1e9
        world.run(lambda: world.now >= until or not self._waiting())
        for process in others:
            process.wake -= 1e9
        if world.violation is None and (left := self._waiting()):
            raise Violation("stuck", "; ".join(f"{task_id} is {show(cell)}" for task_id, cell in left.items()))

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

    def _drain(self, process: Process) -> None:
        queue = open_queue(self.stage, process)
        while not self.stage.closing:
            drain_once(self.stage, process, queue)

    def _waiting(self) -> dict[str, Cell]:
        """Live tasks that can be done. Of a push that never returned nothing is promised until it has run once."""
        stage = self.stage
        promised = {task.id for task in stage.pushed} | stage.keyring.promised()
        return {
            task_id: cell
            for task_id, cell in self.truth.live().items()
            if (cell.epoch > 0 or task_id in promised)
            and (cell.state is not State.BLOCKED or self.truth.unblocked(task_id))
        }

    def _host(self) -> SimHost:
        return self.world.rng.choice(self.stage.hosts)

    def _start_worker(self, host: SimHost | None = None, reuse: int = 0) -> None:
        rng = self.world.rng
        guarded = rng.random() < 0.3
        body = Worker(self.stage, 3 + int(rng.random() * 4), guarded=guarded, careless=rng.choice((0.0, 0.5, 1.0)))
        name = f"work{len(self._workers)}"
        self._workers.append(self.stage.start(name, host or self._host(), body, reuse=reuse))

    def _died(self, process: Process) -> None:
        if process in self._workers and self._respawn > 0:
            self._respawn -= 1
            current = next((host for host in self.stage.hosts if host.name == process.host.name), process.host)
            self._start_worker(current, reuse=process.pid if self.world.random() < 0.3 else 0)

    def _reboot(self, host: SimHost) -> None:
        """Power cut: every process of the host dies, and it comes back with another boot id."""
        stage = self.stage
        if host not in stage.hosts:
            return
        self.world.say(f"{host.name} reboots")
        stage.hosts[stage.hosts.index(host)] = host.rebooted(self.world.rng)
        for process in list(self.world.processes):
            if process.host is host and process.alive and not process.over:
                self.world.kill(process)


__all__ = ["BACKENDS", "Guarding", "Outcome", "TaskNotFound", "run"]
