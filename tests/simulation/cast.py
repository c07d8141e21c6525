"""Who plays in a schedule, and what must be done by the end of its calm."""

from typing import Protocol

from dibs.states import Cell, State

from .actors import Producer, Shell, Worker, drain_once, open_queue
from .locks import LockDrainer, LockUser
from .machines import SimHost
from .meddler import Meddler
from .stage import Stage
from .world import Process


class Cast(Protocol):
    workers: list[Process]

    def enter(self) -> None:
        """Everybody comes on stage."""

    def replace(self, process: Process, host: SimHost, reuse: int) -> None:
        """A worker died; another one takes its place."""

    def drainer(self) -> Process:
        """Somebody who does, in calm, all that can be done."""

    def left(self) -> dict[str, Cell]:
        """What still has to be done."""


class QueueCast:
    key_war = False

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.workers: list[Process] = []

    def enter(self) -> None:
        stage, rng = self._stage, self._stage.rng
        if self.key_war:
            self._enter_key_war()
            return
        for number in range(rng.choice((1, 1, 2))):
            stage.start(f"push{number}", stage.any_host(), Producer(stage, 2 + int(rng.random() * 3)))
        for _ in range(2 + int(rng.random() * 2)):
            self._start_worker(stage.any_host())
        if rng.random() < 0.5:
            stage.start("meddler", stage.any_host(), Meddler(stage, 4, purges=rng.choice((0.0, 0.0, 0.4))))
        if rng.random() < 0.2:
            stage.start("shell", stage.any_host(), Shell(stage, 3))

    def _enter_key_war(self) -> None:
        """One key, pushed again and again by several, while finished tasks are purged at once."""
        stage = self._stage
        stage.keyed, stage.keys = 0.9, ("a",)
        for number in range(2):
            stage.start(f"push{number}", stage.any_host(), Producer(stage, 6, pace=0.8))
        for _ in range(stage.rng.choice((1, 2))):
            self._start_worker(stage.any_host())
        for number in range(2):
            stage.start(f"meddler{number}", stage.any_host(), Meddler(stage, 8, purges=0.7, pace=0.6))

    def replace(self, process: Process, host: SimHost, reuse: int) -> None:
        if process in self.workers:
            self._start_worker(host, reuse)

    def drainer(self) -> Process:
        willing = [process for process in self.workers if process.alive and not process.over]
        if willing and self._stage.rng.random() < 0.5:
            return self._stage.rng.choice(willing)
        return self._stage.start("calm", self._stage.any_host(), self._drain)

    def left(self) -> dict[str, Cell]:
        """Live tasks that can be done. Of a push that never returned nothing is promised until it has run once."""
        stage, truth = self._stage, self._stage.truth
        promised = {task.id for task in stage.pushed} | stage.keyring.promised()
        return {
            task_id: cell
            for task_id, cell in truth.live().items()
            if (cell.epoch > 0 or task_id in promised) and (cell.state is not State.BLOCKED or truth.unblocked(task_id))
        }

    def _start_worker(self, host: SimHost, reuse: int = 0) -> None:
        rng = self._stage.rng
        guarded = rng.random() < 0.3
        body = Worker(self._stage, 3 + int(rng.random() * 4), guarded=guarded, careless=rng.choice((0.0, 0.5, 1.0)))
        self.workers.append(self._stage.start(f"work{len(self.workers)}", host, body, reuse=reuse))

    def _drain(self, process: Process) -> None:
        queue = open_queue(self._stage, process)
        while not self._stage.closing:
            drain_once(self._stage, process, queue)


class KeyWarCast(QueueCast):
    """All about keys."""

    key_war = True


class SeedWarCast(QueueCast):
    """All about fresh tasks: claimed and cancelled by many at once, done at once and purged at once."""

    def enter(self) -> None:
        stage = self._stage
        stage.plain = True
        for number in range(2):
            stage.start(f"push{number}", stage.any_host(), Producer(stage, 8, pace=0.3))
        for _ in range(3):
            self._start_worker(stage.any_host())
        for number in range(3):
            stage.start(f"meddler{number}", stage.any_host(), Meddler(stage, 12, purges=0.5, pace=0.3, latest=2))


class OrderWarCast(QueueCast):
    """All about priorities: changed again and again, by several, while workers claim and release."""

    def enter(self) -> None:
        stage = self._stage
        stage.start("push", stage.any_host(), Producer(stage, 5, pace=0.3))
        for _ in range(3):
            self._start_worker(stage.any_host())
        for number in range(3):
            body = Meddler(stage, 12, purges=0.1, pace=0.3, latest=2, orders=0.8)
            stage.start(f"meddler{number}", stage.any_host(), body)


class LockCast:
    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.workers: list[Process] = []
        self._last = LockDrainer(stage)

    def enter(self) -> None:
        for _ in range(3 + int(self._stage.rng.random() * 3)):
            self._start_user(self._stage.any_host())

    def replace(self, process: Process, host: SimHost, reuse: int) -> None:
        self._start_user(host, reuse)

    def drainer(self) -> Process:
        return self._stage.start("calm", self._stage.any_host(), self._last)

    def left(self) -> dict[str, Cell]:
        return {name: self._stage.truth.cells[name] for name in self._last.left}

    def _start_user(self, host: SimHost, reuse: int = 0) -> None:
        body = LockUser(self._stage, 4 + int(self._stage.rng.random() * 4))
        self.workers.append(self._stage.start(f"user{len(self.workers)}", host, body, reuse=reuse))
