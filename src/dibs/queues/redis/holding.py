"""A holder's side of a Redis queue: making leases of what was claimed, the steps that end them, keeping them alive.

A lease's deadline counts, on this host's boottime clock, from before what was sent last and answered.
"""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import zip_longest
from math import inf
from typing import Any

from dibs.errors import LeaseLost
from dibs.facets import Filter
from dibs.queues.held import Lease
from dibs.queues.queue import Queue
from dibs.queues.redis.answers import FIRST, MICRO, known, standing_of, worker_of
from dibs.queues.redis.chain import Chain
from dibs.queues.redis.claimer import Taken
from dibs.queues.redis.held import Held, handle_of, parse_handle
from dibs.queues.redis.steps import CHUNK, Steps, lost, lost_to
from dibs.queues.redis.workers import Workers
from dibs.states import State
from dibs.task import checked_number, checked_record, decode

MOST_BEATEN = 10_000


class Holding(Queue):
    _workers: Workers
    _steps: Steps
    _links: Chain
    _beaten: dict[str, float]  # until when, of those that this process beats for

    @abstractmethod
    def _shown(self, ref: str) -> list[Any]:
        """What `show` answers. TaskNotFound when there is no such task."""

    def _leases(self, found: Taken, ttl: float) -> list[Lease]:
        vouched, nonce = self.guard_pid is not None, self._steps.nonce()
        deadline, worker = found.sent + ttl, worker_of(found.holder)
        leases = []
        for record, standing in zip_longest(found.records, found.standings):
            cell, longest = standing_of(standing) if standing else (FIRST, None)
            leases.append(
                Lease(
                    self,
                    (checked_record(decode(record)), cell),
                    cell.epoch,
                    worker,
                    ttl,
                    deadline if longest is None else min(deadline, found.sent + longest),
                    found.sent,
                    Held(found.holder, cell.epoch, nonce, vouched=vouched),
                )
            )
        if self.clock.boottime() < deadline:
            return leases
        for lease in leases:  # we slept, or the answer was long on its way: others may already take it over
            with suppress(LeaseLost):
                self._steps.release(lease, 0.0)
        return []

    def lease(self, task_id: str, epoch: int) -> Lease:
        answer = self._shown(task_id)
        asked = self.clock.boottime()
        found = known(answer[0])
        if found.cell.state is not State.CLAIMED or found.cell.epoch != epoch:
            state, now = str(found.cell.state).encode(), str(found.cell.epoch).encode()
            raise lost_to(found.task.id, epoch, [b"lost", state, now, worker_of(found.cell.holder).encode(), b""])
        ttl = int(found.fields["ttl"]) / MICRO
        held = Held(found.cell.holder, epoch, self._steps.nonce())
        until = self._steps.until(found.task.id, held)
        return Lease(
            self,
            found.task,
            epoch=epoch,
            worker=worker_of(found.cell.holder),
            ttl=ttl,
            deadline=until if isinstance(until, float) else asked,
            since=asked,
            token=held,
        )

    def renew(self, lease: Lease) -> None:
        held: Held = lease.token
        if not held.kept:
            self._steps.renew(lease)
            return
        until = self._steps.until(lease.id, held)
        if not isinstance(until, float):
            raise lost(lease, until)
        if self.clock.boottime() >= max(until, lease.deadline):
            raise lost(lease, [b"lost", b"claimed", str(held.epoch).encode(), b"", b""])
        lease.deadline = max(lease.deadline, until)

    def complete(self, lease: Lease, result: Any = None) -> None:
        (answer,) = self._steps.complete([(lease, result)])
        if answer[0] != b"ok":
            raise lost(lease, answer)

    def _chain(self, lease: Lease, result: Any, ttl: float, wanted: Filter) -> Lease | None:
        done, found = self._links.link(lease, result, ttl, wanted, self.guard_pid)
        if done[0] != b"ok":
            raise lost(lease, done)
        leases = self._leases(found, ttl)
        return leases[0] if leases else None

    def complete_many(self, leases: Iterable[Lease]) -> list[Lease]:
        given = list(leases)
        held = _held(given)
        return _settled(given, held, self._steps.complete(held) if held else [])

    def _chain_many(self, leases: list[Lease], limit: int, ttl: float, wanted: Filter) -> list[Lease]:
        held = _held(leases)
        if not 0 < len(held) <= CHUNK:
            return super()._chain_many(leases, limit, ttl, wanted)
        answers, found = self._links.link_many(held, limit, ttl, wanted, self.guard_pid)
        _settled(leases, held, answers)
        return self._leases(found, ttl)

    def release(self, lease: Lease, delay: float = 0.0) -> None:
        self._steps.release(lease, checked_number("delay", delay, 0))

    def fail(self, lease: Lease, error: str, *, retry: bool = True) -> None:
        self._steps.fail(lease, error, retry)

    # Keep

    def handle(self, lease: Lease) -> str:
        held: Held = lease.token
        held.kept = True
        return handle_of(lease.id, held)

    def vouched(self, lease: Lease) -> float | None:
        return lease.deadline if lease.token.vouched else None

    def beat(self, handle: str) -> float | None:
        last = self._beaten.get(handle, inf)
        late = self.clock.boottime() >= last
        until = () if late else self._steps.beat(*parse_handle(handle), self._workers.guard(), last)
        if not isinstance(until, float):
            self._beaten.pop(handle, None)
            return None
        if len(self._beaten) >= MOST_BEATEN:  # most of them have ended: nobody says so here
            now = self.clock.boottime()
            self._beaten = {other: then for other, then in self._beaten.items() if then > now}
        self._beaten[handle] = until
        return until

    def end(self, handle: str) -> None:
        self._beaten.pop(handle, None)
        self._steps.expire(*parse_handle(handle), "died")

    def kept_until(self, lease: Lease) -> float:
        until = self._steps.until(lease.id, lease.token)
        return until if isinstance(until, float) else lease.deadline


def _held(leases: list[Lease]) -> list[tuple[Lease, Any]]:
    """Those that may still be completed, with their results."""
    return [(lease, lease.result) for lease in leases if lease.state == "held"]


def _settled(given: list[Lease], held: list[tuple[Lease, Any]], answers: Sequence[Sequence[bytes]]) -> list[Lease]:
    """Says to each lease what became of it. Those that were not completed now."""
    gone = [lease for lease in given if lease.state != "held"]
    for (lease, _), answer in zip(held, answers, strict=True):
        lease.state = "completed" if answer[0] == b"ok" else "lost"
        if lease.state == "lost":
            gone.append(lease)
    return gone
