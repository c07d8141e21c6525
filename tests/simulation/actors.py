"""The cast: what simulated processes do with a queue. They use its public contract only."""

from collections.abc import Callable
from functools import partial
from typing import Any

from dibs.errors import BadInput, LeaseLost, TaskNotFound
from dibs.queues.queue import Queue

from .hands import Hand, attempt
from .stage import Stage
from .world import Process, Violation


class Producer:
    def __init__(self, stage: Stage, count: int, pace: float = 0.3) -> None:
        self._stage = stage
        self._count = count
        self._pace = pace  # TTLs between two pushes, at most

    def __call__(self, process: Process) -> None:
        stage, rng = self._stage, self._stage.rng
        queue = open_queue(stage, process)
        for number in range(self._count):
            if queue is None or stage.closing:
                return
            wish = self._wish(number)
            for _ in range(3):
                began = stage.keyring.begin(wish.get("key", ""))
                task = attempt(process, partial(queue.push, **wish))
                if task is not None:
                    stage.world.say(f"pushed {task.id[-6:]} {wish} {'duplicate' if task.duplicate else ''}")
                    self._pushed(task, wish, began)
                    break
                if rng.random() < 0.5:
                    break
            process.world.sleep(rng.random() * stage.ttl * self._pace)

    def _pushed(self, task: Any, wish: dict[str, Any], began: tuple[float, str]) -> None:
        stage = self._stage
        if not stage.truth.known(task.id):
            raise Violation("lost", f"push returned task {task.id}, which is not in the queue")
        if not task.duplicate:
            stage.pushed.append(task)
        if "key" in wish:
            stage.keyring.pushed(wish["key"], wish["unique"], began, task.id, duplicate=task.duplicate)

    def _wish(self, number: int) -> dict[str, Any]:
        stage, rng = self._stage, self._stage.rng
        if stage.plain or getattr(stage.backend, "plain", False):
            return {"payload": number}
        wish: dict[str, Any] = {
            "payload": number, "max_attempts": rng.choice((1, 2, 3)), "max_deaths": rng.choice((1, 3, 8)),
            "backoff": rng.choice((0.0, 1.0)),
        }  # fmt: skip
        dice = rng.random()
        if dice < stage.keyed:
            wish["key"] = rng.choice(stage.keys)
            wish["unique"] = rng.choice(("live", "live", "completed"))
        elif (dice := rng.random()) < 0.12:
            wish["delay"] = rng.random() * stage.ttl
        elif dice < 0.3 and stage.pushed:
            wish["after"] = [rng.choice(stage.pushed).id]
        elif dice < 0.36:
            wish["after"] = [rng.choice(stage.keys)]
        if rng.random() < 0.2:
            wish["priority"] = "high"
        if rng.random() < 0.1:
            wish["max_runtime"] = stage.ttl * 1.5
        if rng.random() < 0.1:
            wish["labels"] = ["x"]
        return wish


class Worker:
    """Claims, works in steps, looks at its lease, renews it or not, and ends it somehow."""

    def __init__(self, stage: Stage, rounds: int, *, guarded: bool = False, careless: float = 0.5) -> None:
        self._stage = stage
        self._rounds = rounds
        self._careless = careless
        self.guard = Guarding(stage) if guarded else None

    @property
    def guard_process(self) -> Process | None:
        return self.guard.process if self.guard else None

    def __call__(self, process: Process) -> None:
        stage, rng = self._stage, self._stage.rng
        queue = open_queue(stage, process)
        if queue is None:
            return
        if self.guard is not None:
            self.guard.attach(process, queue)
        for _ in range(self._rounds):
            if stage.closing or stage.drainer is not None:
                break
            for hand in self._claim(process, queue):
                self._work(hand)
                if self.guard is not None:
                    self.guard.drop(hand)
            process.world.sleep(rng.random() * stage.ttl * 0.4)
        while stage.drainer is process and not stage.closing:
            drain_once(stage, process, queue)

    def _claim(self, process: Process, queue: Queue) -> list[Hand]:
        stage, rng = self._stage, self._stage.rng
        limit = 2 if rng.random() < 0.3 else 1
        ttl = stage.ttl * (0.5 if rng.random() < 0.1 else 1)
        leases = attempt(process, lambda: queue.claim_many(limit, ttl=ttl)) or []
        hands = []
        for lease in leases:
            stage.world.say(f"claimed {lease.id[-6:]} epoch {lease.epoch} as {lease.worker}")
            hands.append(stage.hands.take(process, lease))
        if self.guard is not None:
            for hand in hands:
                self.guard.keep(hand)
        return hands

    def _work(self, hand: Hand) -> None:
        stage, rng, lease = self._stage, self._stage.rng, hand.lease
        for _ in range(int(rng.random() * 4)):
            hand.process.world.sleep(rng.random() * stage.ttl * 0.7)
            believes = attempt(hand.process, lambda: lease.held)
            stage.world.look()
            if not believes and self.guard is None and rng.random() > self._careless:
                return
            if rng.random() < 0.6 and stage.hands.step(hand, "renew", lease.renew) == "lost":
                return
        self._finish(hand)

    def _finish(self, hand: Hand) -> None:
        stage, rng, lease = self._stage, self._stage.rng, hand.lease
        dice = rng.random()
        name: str = "complete"
        act: Callable[[], Any] = lease.complete
        if dice < 0.1 and self.guard is None:
            return  # forgotten
        if dice < 0.25:
            name, act = "fail", lambda: lease.fail("no luck", retry=rng.random() < 0.8)
        elif dice < 0.35:
            delay = rng.choice((0.0, stage.ttl / 2))
            name, act = "release", lambda: lease.release(delay)
        elif dice < 0.6:
            name, act = "complete", lambda: lease.complete({"by": hand.process.name})
        while stage.hands.step(hand, name, act) == "error":
            if self.guard is None and rng.random() < 0.4:
                return  # what is guarded is never left lying: its guard would keep it for ever
            hand.process.world.sleep(rng.random() * stage.ttl * 0.2)


class Guarding:
    """A worker's guard: a process of its own that beats for it and, when the worker is dead, ends its session."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._handles: dict[str, float] = {}
        self._kept: dict[Hand, str] = {}
        self._ward: Process | None = None
        self.process: Process | None = None

    def attach(self, ward: Process, queue: Queue) -> None:
        self._ward = ward
        queue.guarded = self._stage.rng.random() < 0.7
        self.process = self._stage.start(f"{ward.name}-guard", ward.host, self._body)

    def keep(self, hand: Hand) -> None:
        process = hand.process
        process.busy = hand.stepping = True
        try:
            handle = attempt(process, lambda: hand.lease.queue.handle(hand.lease), LeaseLost)
        finally:
            process.busy = hand.stepping = False
        if handle is not None:
            self._handles[handle] = hand.lease.ttl
            self._kept[hand] = handle

    def drop(self, hand: Hand) -> None:
        """No longer for this one; a handle that others hang on is kept."""
        handle = self._kept.pop(hand, None)
        if handle is not None and handle not in self._kept.values():
            self._handles.pop(handle, None)

    def _body(self, process: Process) -> None:
        stage, ward = self._stage, self._ward
        assert ward is not None
        queue = open_queue(stage, process)
        if queue is None:
            return
        while True:
            gone = not ward.alive or ward.over
            for handle in list(self._handles):
                if gone:
                    attempt(process, partial(queue.end, handle))
                    self._handles.pop(handle, None)
                elif attempt(process, lambda handle=handle: queue.beat(handle) or 0.0) == 0.0:  # type: ignore[misc]
                    self._handles.pop(handle, None)
            if gone or (stage.closing and ward.over):
                return
            process.world.sleep(min(self._handles.values(), default=stage.ttl / 2) / 3)


class Shell:
    """One-shot commands: each call is a process of its own, and the lease belongs to none of them."""

    def __init__(self, stage: Stage, rounds: int) -> None:
        self._stage = stage
        self._rounds = rounds

    def __call__(self, process: Process) -> None:
        stage, rng = self._stage, self._stage.rng
        for _ in range(self._rounds):
            queue = open_queue(stage, process, pid=None)
            if queue is None or stage.closing or stage.drainer is not None:
                return
            for lease in attempt(process, partial(queue.claim_many, 1, ttl=stage.ttl)) or []:
                stage.world.say(f"claimed {lease.id[-6:]} epoch {lease.epoch} as {lease.worker}")
                stage.hands.drop(stage.hands.take(process, lease))
                self._go_on(process, lease.id, lease.epoch)
            process.world.sleep(rng.random() * stage.ttl * 0.4)

    def _go_on(self, process: Process, task_id: str, epoch: int) -> None:
        stage, rng = self._stage, self._stage.rng
        for name in [*["renew"] * int(rng.random() * 3), rng.choice(("complete", "complete", "release", "fail", ""))]:
            process.world.sleep(rng.random() * stage.ttl * 0.9)
            queue = open_queue(stage, process, pid=None)
            if queue is None or not name:
                return
            lease = attempt(process, partial(queue.lease, task_id, epoch), LeaseLost, TaskNotFound)
            if lease is None:
                return
            hand = stage.hands.adopt(process, lease)
            acts: dict[str, Callable[[], Any]] = {
                "renew": lease.renew,
                "complete": lease.complete,
                "release": lease.release,
                "fail": partial(lease.fail, "no luck"),
            }
            answer = stage.hands.step(hand, name, acts[name])
            stage.hands.drop(hand)
            if answer == "lost":
                return


def open_queue(stage: Stage, process: Process, *, pid: int | None = -1) -> Any:
    """None when that failed: a folder that cannot be looked at just now is taken for none."""
    return attempt(process, lambda: stage.backend.open(process, pid=process.pid if pid == -1 else pid), BadInput)


def drain_once(stage: Stage, process: Process, queue: Queue) -> None:
    """Calm: take what there is and complete it; wait a little when there is nothing."""
    leases = attempt(process, lambda: queue.claim_many(2, ttl=stage.ttl)) or []
    for lease in leases:
        hand = stage.hands.take(process, lease)
        if stage.hands.step(hand, "complete", lease.complete) != "done" and not stage.closing:
            raise Violation("untrue answer", f"{process} could not complete {lease.id} in calm")
    if not leases:
        process.world.sleep(stage.ttl / 3 + 1)
