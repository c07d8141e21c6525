"""The steps of a holder. Each is one transaction, in which epoch and holder are compared first."""

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

from dibs import states
from dibs.clock import Clock
from dibs.errors import LeaseLost
from dibs.liveness import Verdict
from dibs.queues.held import Lease
from dibs.queues.lmdb import completing, expiring
from dibs.queues.lmdb.cells import Cells, held_as
from dibs.queues.lmdb.database import Database, Transaction
from dibs.queues.lmdb.held import Held
from dibs.queues.lmdb.layout import (
    CELL,
    MICRO,
    WORKER,
    Standing,
    worker_of,
)
from dibs.queues.lmdb.waits import anybody_waits, free_waiting
from dibs.queues.lmdb.workers import Workers, record_of
from dibs.queues.lost import refused
from dibs.task import encode


class Refusal(NamedTuple):
    """What there is instead of the lease."""

    state: str = ""  # empty: no such task
    epoch: int = 0
    worker: str = ""
    host: str = ""


class Steps:
    def __init__(self, database: Database, workers: Workers, clock: Clock, rng: random.Random) -> None:
        self._database = database
        self._workers = workers
        self._clock = clock
        self._rng = rng

    def renew(self, held: Held, *, guard: bool = False) -> float | Refusal:
        """Until when it holds then (boottime). `guard`: this process beats for the holder."""

        def step(txn: Transaction) -> float | Refusal:
            cells = Cells(txn, self._clock)
            cell = cells.read(held.task)
            if cell is None or not held_as(cell, held.epoch, held.holder):
                return refusal(cells, cell)
            boot = self._workers.boot(txn, write=True)
            now = int(self._clock.boottime() * MICRO)
            if cell.boot != boot:
                cell.since = now  # of another boot: nobody here knows when its time is over, and the swap alone decides
            elif cell.when <= now:
                return refusal(cells, cell)
            cells.delete(cell.place(held.task))
            cell.boot, cell.beat, cell.when = boot, now, now + cell.ttl
            if cell.runtime:
                cell.when = min(cell.when, cell.since + cell.runtime)
            txn.put(CELL + held.task, cell.packed())
            txn.put(cell.place(held.task), cell.worker)
            if guard:
                self._workers.vouch(txn, cell.worker)
            return cell.when / MICRO

        return self._database.write(step)

    def until(self, held: Held) -> float | Refusal:
        """Until when somebody has renewed it for. Changes nothing."""

        def look(txn: Transaction) -> float | Refusal:
            cells = Cells(txn, self._clock)
            cell = cells.read(held.task)
            if cell is None or not held_as(cell, held.epoch, held.holder):
                return refusal(cells, cell)
            return cell.when / MICRO if cell.boot == self._workers.boot(txn) else 0.0

        return self._database.read(look)

    def complete(self, leases: Sequence[tuple[Held, Any]]) -> list[Refusal | None]:
        """For each None, or the refusal. BadInput when a result is no JSON, before anything is done."""
        check_results(leases)

        def step(txn: Transaction) -> list[Refusal | None]:
            cells = Cells(txn, self._clock)
            one = len(leases) == 1
            answers = [self.completed_one(cells, *leases[0])] if one else self.completed(cells, leases)
            cells.finish()
            return answers

        return self._database.write(step)

    def completed_one(self, cells: Cells, held: Held, result: Any) -> Refusal | None:
        """The same within a transaction."""
        waiting = anybody_waits(cells)
        answer = completing.complete_one(cells, held, result)
        if answer is not True:
            return refusal(cells, answer or None)
        if waiting:
            self._free(cells, held.task)
        return None

    def completed(self, cells: Cells, leases: Sequence[tuple[Held, Any]]) -> list[Refusal | None]:
        waiting = anybody_waits(cells)
        answers = [
            None if answer is True else refusal(cells, answer or None) for answer in completing.complete(cells, leases)
        ]
        if waiting:
            for (held, _), answer in zip(leases, answers, strict=True):
                if answer is None:
                    self._free(cells, held.task)
        return answers

    def _free(self, cells: Cells, task: bytes) -> None:
        free_waiting(cells, task.hex())
        key = cells.record(task).get("key")
        if key is not None:
            free_waiting(cells, key)

    def release(self, held: Held, delay: float) -> Refusal | None:
        def step(cells: Cells, cell: Standing) -> None:
            cells.stand(held.task, cell, states.release(cell.cell, cells.due(delay)))

        return self._stepped(held, step)

    def fail(self, held: Held, error: str, *, retry: bool) -> Refusal | None:
        event = {"epoch": held.epoch, "what": "failed", "worker": worker_of(held.holder).decode(), "error": error}
        encode(event)

        def step(cells: Cells, cell: Standing) -> None:
            expiring.fail(cells, held.task, cell, self._rng, retry=retry)
            cells.note(held.task, dict(event))

        return self._stepped(held, step)

    def expire(self, held: Held, verdict: Verdict) -> Refusal:
        """Give back what is still held so; what there is then."""

        def step(txn: Transaction) -> Refusal:
            cells = Cells(txn, self._clock)
            cell = cells.read(held.task)
            if cell is not None and held_as(cell, held.epoch, held.holder):
                expiring.expire(cells, held.task, cell, verdict, self._rng)
            cells.finish()
            return refusal(cells, cell)

        return self._database.write(step)

    def _stepped(self, held: Held, step: Any) -> Refusal | None:
        def whole(txn: Transaction) -> Refusal | None:
            cells = Cells(txn, self._clock)
            cell = cells.read(held.task)
            if cell is None or not held_as(cell, held.epoch, held.holder):
                return refusal(cells, cell)
            step(cells, cell)
            cells.finish()
            return None

        return self._database.write(whole)


def check_results(leases: Sequence[tuple[Held, Any]]) -> None:
    for _, result in leases:
        if result is not None:
            encode(result)


def refusal(cells: Cells, cell: Standing | None) -> Refusal:
    if cell is None:
        return Refusal()
    host = record_of(cells.get(WORKER + cell.worker)).get("host", "")
    return Refusal(str(cell.cell.state), cell.epoch, cell.worker.decode(), host)


def lost(lease: Lease, now: Refusal) -> LeaseLost:
    lease.state = "lost"
    return lost_to(lease.id, lease.epoch, now)


def lost_to(task_id: str, epoch: int, now: Refusal) -> LeaseLost:
    """The error that says who has the task now."""
    holder = f"{now.worker} on {now.host}" if now.host else now.worker
    return refused(task_id, epoch, now.state, now.epoch, holder)
