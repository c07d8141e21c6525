"""Bare leases: `lease.Leases.acquire`, renew and release on a few names, as an index takes its locks."""

from types import SimpleNamespace
from typing import Any

from dibs.errors import LeaseLost
from dibs.lease import Held, Leases, Lost, seen
from dibs.liveness import Holder, Watch
from dibs.states import Cell, State
from dibs.stores.store import Entry

from .cloud import Cloud, SimStore
from .hands import Hand, attempt
from .machines import SimClock
from .stage import Stage
from .truth import Truth
from .world import Process, Violation, World

NAMES = ("locks/x", "locks/y")
FREE = Cell(State.READY)


class Lock:
    """A held lock in the shape of a queue's lease."""

    def __init__(self, held: Held) -> None:
        self.held = held
        self.id = getattr(held, "lock", held.key)
        self.epoch = held.epoch
        self.worker = held.session
        self.state = "held"
        self.task = SimpleNamespace(max_runtime=None, priority=50)
        self.queue = self

    @property
    def deadline(self) -> float:
        return self.held.deadline

    def kept_until(self, lease: "Lock") -> float:
        return lease.deadline

    def renew(self) -> None:
        if not self.held.renew():
            self.state = "lost"
            raise LeaseLost(f"lock {self.id} is lost")

    def release(self) -> None:
        try:
            self.held.release()
            self.state = "released"
        except Lost:
            self.state = "lost"
            raise LeaseLost(f"lock {self.id} is lost") from None


class LocksBackend:
    leases_class: type[Leases] = Leases
    store_class: type[SimStore] = SimStore
    retention = 0.0

    def __init__(self, world: World, truth: Truth) -> None:
        self._world = world
        self._truth = truth
        self.cloud = Cloud(world)
        world.doubles = True
        self.cloud.changed = self._changed
        self._cells = dict.fromkeys(NAMES, FREE)
        for name in NAMES:
            truth.change(name, None, FREE)

    def open(self, process: Process, *, pid: int | None = None) -> Any:
        clock = SimClock(self._world, process.host)
        store = self.store_class(self._world, self.cloud, process)
        return self.leases_class(store, clock=clock, rng=self._world.rng, watch=Watch(process.host, clock))

    def _changed(self, name: str, before: bytes | None, after: bytes | None) -> None:
        try:
            self.record(name, self.cell_after(name, after))
        except Violation as violation:
            self._world.failed(violation)
            raise

    def cell_after(self, name: str, data: bytes | None) -> Cell:
        """A lock whose record is gone is free; its epochs should have gone on."""
        last = self._cells[name]
        return (
            Cell(State.READY, last.epoch, last.attempts, last.deaths)
            if data is None
            else seen(Entry(data, "")).record.cell
        )

    def record(self, name: str, cell: Cell) -> None:
        """Takeover is two steps in one: expire and claim."""
        before = self._cells[name]
        if before == cell:
            return
        self._cells[name] = cell
        if before.state is State.CLAIMED is cell.state and before.holder != cell.holder:
            between = Cell(State.READY, before.epoch, before.attempts, before.deaths + 1)
            self._truth.change(name, before, between)
            before = between
        self._truth.change(name, before, cell)


class LockUser:
    def __init__(self, stage: Stage, rounds: int) -> None:
        self._stage = stage
        self._rounds = rounds

    def __call__(self, process: Process) -> None:
        stage, rng = self._stage, self._stage.rng
        leases = stage.backend.open(process)
        for _ in range(self._rounds):
            if stage.closing or stage.drainer is not None:
                return
            self._use(process, leases, rng.choice(NAMES))
            process.world.sleep(rng.random() * stage.ttl * 0.4)

    def _use(self, process: Process, leases: Any, name: str) -> None:
        stage, rng = self._stage, self._stage.rng
        hand = acquire(stage, process, leases, name)
        if hand is None:
            return
        lock: Any = hand.lease
        for _ in range(int(rng.random() * 4)):
            process.world.sleep(rng.random() * stage.ttl * 0.7)
            stage.world.look()
            if rng.random() < 0.6 and stage.hands.step(hand, "renew", lock.renew) == "lost":
                return
        while rng.random() < 0.8:  # else it is forgotten
            if stage.hands.step(hand, "release", lock.release) != "error":
                return


class LockDrainer:
    """Calm: every lock can be had."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.left = set(NAMES)

    def __call__(self, process: Process) -> None:
        stage = self._stage
        leases = stage.backend.open(process)
        while self.left and not stage.closing:
            for name in sorted(self.left):
                hand = acquire(stage, process, leases, name)
                lock: Any = hand and hand.lease
                if hand is not None and stage.hands.step(hand, "release", lock.release) == "done":
                    self.left.remove(name)
            process.world.sleep(stage.ttl / 3 + 1)


def acquire(stage: Stage, process: Process, leases: Any, name: str) -> Hand | None:
    host = process.host
    beat = host.boottime(stage.world.now)
    holder = Holder(
        session=f"{process.name}-{stage.rng.getrandbits(32):08x}", worker=process.name, host=host.name,
        machine=host.machine, boot=host.boot, space=host.space, pid=process.pid, start=host.started(process.pid),
        ttl=stage.ttl, beat=beat, since=0.0,
    )  # fmt: skip
    held = attempt(process, lambda: leases.acquire(name, holder))
    if held is None:
        return None
    stage.world.say(f"acquired {name} at epoch {held.epoch}")
    return stage.hands.take(process, Lock(held))  # type: ignore[arg-type]
