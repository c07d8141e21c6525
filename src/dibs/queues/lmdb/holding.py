"""A holder's side of a queue in LMDB: leases of what was claimed, the steps that end them, keeping them alive."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from dibs.errors import BadInput, StorageError
from dibs.facets import EVERYTHING, Filter
from dibs.liveness import Verdict
from dibs.queues.held import Lease
from dibs.queues.lmdb.cells import Cells
from dibs.queues.lmdb.claimer import Claimer, Taken
from dibs.queues.lmdb.held import Held, handle_of, parse_handle
from dibs.queues.lmdb.layout import MICRO
from dibs.queues.lmdb.looks import Looks
from dibs.queues.lmdb.steps import Refusal, Steps, check_results, lost, lost_to
from dibs.queues.queue import Queue
from dibs.states import State
from dibs.task import checked_number, checked_record, decode

MOST_BEATEN = 10_000


class Holding(Queue):
    _claimer: Claimer
    _steps: Steps
    _looks: Looks
    _beaten: dict[str, float]  # until when, of those that this process beats for

    def _leases(self, found: Taken, ttl: float) -> list[Lease]:
        vouched = self.guard_pid is not None
        tasks, worker, holder, since = found
        leases: list[Lease] = []
        for task, standing, runtime, record, cell in tasks:
            epoch = standing.epoch
            deadline = since + (min(ttl, runtime / MICRO) if runtime else ttl)
            held = Held(task, epoch, holder, cell, vouched)
            leases.append(
                Lease(self, (checked_record(decode(record)), standing), epoch, worker, ttl, deadline, since, held)
            )
        return leases

    def lease(self, task_id: str, epoch: int) -> Lease:
        known = self._looks.find(task_id)
        cell = known.standing
        if known.cell.state is not State.CLAIMED or cell.epoch != epoch:
            raise lost_to(known.task.id, epoch, Refusal(str(known.cell.state), cell.epoch, cell.worker.decode()))
        held = Held(known.id, epoch, cell.holder)
        now = self.clock.boottime()
        until = self._steps.until(held)
        return Lease(
            self,
            known.task,
            epoch=epoch,
            worker=cell.worker.decode(),
            ttl=cell.ttl / MICRO,
            deadline=until if isinstance(until, float) and until else now,
            since=now,
            token=held,
        )

    def renew(self, lease: Lease) -> None:
        held: Held = lease.token
        if held.kept:
            self._follow(lease, held)
            return
        until = self._steps.renew(held)
        if isinstance(until, Refusal):
            if until.state == "claimed" and until.epoch == held.epoch:
                with suppress(StorageError):  # lost all the same: who finds it gives it back
                    self._steps.expire(held, Verdict.SILENT)
            raise lost(lease, until)
        lease.deadline = until

    def _follow(self, lease: Lease, held: Held) -> None:
        until = self._steps.until(held)
        if isinstance(until, Refusal):
            raise lost(lease, until)
        if self.clock.boottime() >= max(until, lease.deadline):
            raise lost(lease, Refusal("claimed", held.epoch))
        lease.deadline = max(lease.deadline, until)

    def complete(self, lease: Lease, result: Any = None) -> None:
        (refused,) = self._steps.complete([(lease.token, result)])
        if refused is not None:
            raise lost(lease, refused)

    def complete_many(self, leases: Iterable[Lease]) -> list[Lease]:
        held, gone = _parted(leases)
        answers = self._steps.complete([(lease.token, lease.result) for lease in held]) if held else []
        return gone + _settled(held, answers)

    def _chain_many(self, leases: list[Lease], limit: int, ttl: float, wanted: Filter) -> list[Lease]:
        """Both in one transaction."""
        held, _ = _parted(leases)
        given = [(lease.token, lease.result) for lease in held]
        check_results(given)
        answers: list[Refusal | None] = []

        def complete(cells: Cells) -> bool:
            answers[:] = self._steps.completed(cells, given)
            return True

        found = self._claimer.claim_after(complete, ttl, wanted, self.guard_pid, limit)
        _settled(held, answers)
        return self._leases(found, ttl)

    def _chain(self, lease: Lease, result: Any, ttl: float, wanted: Filter) -> Lease | None:
        """Both in one transaction."""
        if result is None and wanted is EVERYTHING:
            taken = self._claimer.chain(lease.token, ttl, self.guard_pid)
            if taken is not None:
                return self._leases(taken, ttl)[0]
        check_results([(lease.token, result)])
        refused: Refusal | None = None

        def complete(cells: Cells) -> bool:
            nonlocal refused
            refused = self._steps.completed_one(cells, lease.token, result)
            return refused is None

        found = self._claimer.claim_after(complete, ttl, wanted, self.guard_pid)
        if refused is not None:
            raise lost(lease, refused)
        return self._leases(found, ttl)[0] if found.tasks else None

    def release(self, lease: Lease, delay: float = 0.0) -> None:
        _check(lease, self._steps.release(lease.token, checked_number("delay", delay, 0)))

    def fail(self, lease: Lease, error: str, *, retry: bool = True) -> None:
        _check(lease, self._steps.fail(lease.token, error, retry=retry))

    # Keep

    def handle(self, lease: Lease) -> str:
        held: Held = lease.token
        held.kept = True
        return handle_of(held)

    def vouched(self, lease: Lease) -> float | None:
        return lease.deadline if lease.token.vouched else None

    def beat(self, handle: str) -> float | None:
        last = self._beaten.get(handle)
        until: float | Refusal = Refusal()
        if last is None or self.clock.boottime() < last:
            try:
                until = self._steps.renew(parse_handle(handle), guard=True)
            except BadInput:  # no handle of this queue
                return None
        if isinstance(until, Refusal):
            self._beaten.pop(handle, None)
            return None
        if len(self._beaten) >= MOST_BEATEN:  # most of them have ended: nobody says so here
            now = self.clock.boottime()
            self._beaten = {other: then for other, then in self._beaten.items() if then > now}
        self._beaten[handle] = until
        return until

    def end(self, handle: str) -> None:
        self._beaten.pop(handle, None)
        with suppress(BadInput):
            self._steps.expire(parse_handle(handle), Verdict.DEAD)

    def kept_until(self, lease: Lease) -> float:
        until = self._steps.until(lease.token)
        return lease.deadline if isinstance(until, Refusal) else max(until, 0.0) or lease.deadline


def _check(lease: Lease, refused: Refusal | None) -> None:
    if refused is not None:
        raise lost(lease, refused)


def _parted(leases: Iterable[Lease]) -> tuple[list[Lease], list[Lease]]:
    """Those that may still be completed, each once, and the others."""
    held: list[Lease] = []
    gone: list[Lease] = []
    seen: set[int] = set()
    for lease in leases:
        again = lease.state != "held" or id(lease) in seen
        (gone if again else held).append(lease)
        seen.add(id(lease))
    return held, gone


def _settled(held: list[Lease], answers: list[Refusal | None]) -> list[Lease]:
    """Says to each lease what became of it. Those that were lost."""
    for lease, refused in zip(held, answers, strict=True):
        lease.state = "completed" if refused is None else "lost"
    return [lease for lease in held if lease.state == "lost"]
