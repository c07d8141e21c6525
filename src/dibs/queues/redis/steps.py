"""The steps of a holder. Each is one script, checked there against epoch and holder, and carries a nonce: sent again
after its answer was lost, it finds that it was done."""

import random
from collections.abc import Sequence
from math import inf
from typing import Any

from dibs.clock import Clock
from dibs.errors import LeaseLost
from dibs.queues.held import Lease
from dibs.queues.lost import refused
from dibs.queues.redis.answers import MICRO, micro, worker_of
from dibs.queues.redis.held import Held
from dibs.queues.redis.server import Server
from dibs.task import encode

CAUTION = 0.999  # of what others tell us of a lease's time
CHUNK = 200
OK = (b"ok",)


class Steps:
    def __init__(self, server: Server, clock: Clock, rng: random.Random) -> None:
        self._server = server
        self._clock = clock
        self._rng = rng

    def nonce(self) -> str:
        return f"{self._rng.getrandbits(64):016x}"

    def renew(self, lease: Lease) -> None:
        held: Held = lease.token
        sent = self._clock.boottime()
        if sent >= lease.deadline:
            raise lost(lease, self.expire(lease.id, str(held.epoch), held.holder, "fell silent"))
        until = self.beat(lease.id, str(held.epoch), held.holder, ("", ""), lease.deadline)
        if isinstance(until, float):
            if self._clock.boottime() < lease.deadline:
                lease.deadline = until
                return
            until = ()  # the answer came too late to be believed
        raise lost(lease, until or self.expire(lease.id, str(held.epoch), held.holder, "fell silent"))

    def beat(
        self, task_id: str, epoch: str, holder: str, guard: tuple[int | str, str], deadline: float = inf
    ) -> float | Sequence[bytes]:
        """Until when it holds then (boottime), or the refusal. After the deadline nothing is sent any more."""
        sent = self._clock.boottime()
        answer: Sequence[bytes] = self._server.ask("renew", task_id, epoch, holder, *guard, before=deadline)
        return sent + int(answer[1]) / MICRO if answer[0] == b"ok" else answer

    def until(self, task_id: str, held: Held) -> float | Sequence[bytes]:
        """Until when somebody has renewed it for, or the refusal. Changes nothing."""
        sent = self._clock.boottime()
        answer: Sequence[bytes] = self._server.ask("held", task_id, held.epoch, held.holder)
        return sent + int(answer[1]) / MICRO * CAUTION if answer[0] == b"ok" else answer

    def completion(self, leases: Sequence[tuple[Lease, Any]]) -> list[Any]:
        """The arguments of `complete`. Without a result the cell tells what there is to tell."""
        arguments: list[Any] = []
        group: tuple[str, int, bool] | None = None  # a nonce is one holder's
        for lease, result in leases:
            held: Held = lease.token
            ours = (held.nonce, held.epoch, result is not None)
            if ours != group:
                group, start = ours, len(arguments)
                arguments += [0, held.lease, f"{held.nonce}:complete", int(ours[2])]
            arguments[start] += 1
            arguments.append(lease.id)
            if result is not None:
                worker = worker_of(held.holder)
                arguments.append(encode({"epoch": held.epoch, "what": "completed", "worker": worker, "result": result}))
        return arguments

    def complete(self, leases: Sequence[tuple[Lease, Any]]) -> list[Sequence[bytes]]:
        """For each the answer: ok, or the refusal."""
        parts = [leases[start : start + CHUNK] for start in range(0, len(leases), CHUNK)]
        answers = self._server.ask_many([("complete", self.completion(part)) for part in parts])
        return [answer for part, told in zip(parts, answers, strict=True) for answer in self.told(part, told)]

    def told(self, leases: Sequence[tuple[Lease, Any]], answer: Any) -> list[Sequence[bytes]]:
        """What the script said, for each of them."""
        return [OK] * len(leases) if answer == 1 else answer

    def release(self, lease: Lease, delay: float) -> None:
        held: Held = lease.token
        answer = self._server.ask("release", f"{held.nonce}:release", lease.id, held.epoch, held.holder, micro(delay))
        _check(lease, answer)

    def fail(self, lease: Lease, error: str, retry: bool) -> None:
        held: Held = lease.token
        event = {"epoch": held.epoch, "what": "failed", "worker": worker_of(held.holder), "error": error}
        arguments = [lease.id, held.epoch, held.holder, encode(event), int(retry), self._rng.random()]
        _check(lease, self._server.ask("fail", f"{held.nonce}:fail", *arguments))

    def expire(self, task_id: str, epoch: str, holder: str, verdict: str) -> Sequence[bytes]:
        """Give back what is still held so; what there is then."""
        answer: Sequence[bytes] = self._server.ask(
            "expire", self.nonce(), task_id, epoch, holder, verdict, self._rng.random()
        )
        return answer


def _check(lease: Lease, answer: Sequence[bytes]) -> None:
    if answer[0] != b"ok":
        raise lost(lease, answer)


def lost(lease: Lease, answer: Sequence[bytes]) -> LeaseLost:
    lease.state = "lost"
    return lost_to(lease.id, lease.epoch, answer)


def lost_to(task_id: str, epoch: int, answer: Sequence[bytes]) -> LeaseLost:
    """The error that says who has the task now."""
    if answer[0] == b"gone":
        return refused(task_id, epoch)
    state, now, worker, host = (part.decode() for part in answer[1:])
    return refused(task_id, epoch, state, int(now), f"{worker} on {host}" if host else worker)
