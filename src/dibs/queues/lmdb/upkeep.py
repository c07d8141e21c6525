"""What claimers do besides: take back what ran out, make ready what is due, bury the dead, delete what is old."""

import random
from typing import NamedTuple

from dibs import states
from dibs.clock import Clock
from dibs.host import Host
from dibs.liveness import DRIFT, MARGIN_SECONDS, Verdict, Watch
from dibs.queues.lmdb.cells import Cells
from dibs.queues.lmdb.database import Transaction
from dibs.queues.lmdb.expiring import expire
from dibs.queues.lmdb.layout import (
    BOOTS_KEY,
    CELL,
    ENDED_AS,
    ENDED_AT,
    FREEING,
    IS_CANCELLED,
    IS_COMPLETED,
    LEASE,
    LEASE_AT,
    MICRO,
    SCHEDULED,
    TIME_AT,
    WORKER,
    Standing,
)
from dibs.queues.lmdb.waits import FEW, go_on_freeing, waited_for
from dibs.queues.lmdb.workers import Entry, Workers, entries, record_of

TIDY_SECONDS = 1.0
TIDY_MOST = 500
BURY_MOST = 1000  # leases in one transaction: others wait for it
FORGOTTEN_SECONDS = 86400.0
_FIRST, _LAST = b"\0" * 16, b"\xff" * 16


class Chores(NamedTuple):
    """What a look has found to be done."""

    overdue: bool = False
    dead: tuple[Entry, ...] = ()
    silent: tuple[tuple[bytes, bytes, Verdict], ...] = ()  # task, its cell, on other boots
    wait: float | None = None  # seconds until something runs out or is due; None: nothing will

    @property
    def any(self) -> bool:
        return self.overdue or bool(self.dead) or bool(self.silent)


class Upkeep:
    def __init__(self, workers: Workers, host: Host, clock: Clock, rng: random.Random, retention: float) -> None:
        self.watch = Watch(host, clock)
        self._workers = workers
        self._host = host
        self._clock = clock
        self._rng = rng
        self._retention = retention
        self._tidy_at = float("-inf")

    # Look

    def chores(self, txn: Transaction) -> Chores:
        now, wall = int(self._clock.boottime() * MICRO), int(self._clock.wall() * MICRO)
        boot = self._workers.boot(txn)
        times = []
        with txn.cursor() as cursor:
            overdue = _is_at(cursor, FREEING)
            if boot and cursor.set_range(LEASE_AT.pack(LEASE, boot, 0, _FIRST)):
                kind, of, ends, _ = LEASE_AT.unpack(cursor.key()) if cursor.key()[:1] == LEASE else (b"", 0, 0, b"")
                if kind and of == boot:
                    times.append(ends - now)
            if _is_at(cursor, SCHEDULED):
                times.append(TIME_AT.unpack(cursor.key())[1] - wall)
        nearest = min(times, default=None)
        return Chores(
            overdue or (nearest is not None and nearest <= 0),
            tuple(self._workers.dead(txn)),
            tuple(self._silent(txn, boot)),
            None if nearest is None else nearest / MICRO,
        )

    def _silent(self, txn: Transaction, boot: int) -> list[tuple[bytes, bytes, Verdict]]:
        """Leases of other boots whose time is over by our own watching."""
        asked = self._clock.boottime()
        found, seen = [], []
        boots: dict[int, str] | None = None
        for key, _ in _leases_of_others(txn, boot):
            _, of, beat, task = LEASE_AT.unpack(key)
            data = txn.get(CELL + task)
            if data is None:
                continue
            cell = Standing(data)
            session = f"{task.hex()} {cell.holder.decode()}"
            seen.append(session)
            if self.watch.watched_for(session, float(beat), asked) <= cell.ttl / MICRO * DRIFT + MARGIN_SECONDS:
                continue
            if boots is None:
                boots = {number: name for name, number in record_of(txn.get(BOOTS_KEY)).items()}
            found.append((task, data, self._verdict(txn, cell, boots.get(of, ""))))
        self.watch.forget_others(seen)
        return found

    def _verdict(self, txn: Transaction, cell: Standing, boot: str) -> Verdict:
        """REBOOTED when its machine is known to have booted since."""
        machine = record_of(txn.get(WORKER + cell.worker)).get("machine")
        known = [(self._host.machine, self._host.boot)]
        known += [(str(other.get("machine")), str(other.get("boot"))) for other in map(record_of, _records(txn))]
        rebooted = any(where == machine and _boot(when) != _boot(boot) for where, when in known)
        return Verdict.REBOOTED if rebooted else Verdict.SILENT

    # Do

    def do(self, cells: Cells, chores: Chores) -> None:
        """In the transaction that goes on to claim."""
        self.take_back(cells, FEW)
        for task, data, verdict in chores.silent[:BURY_MOST]:
            if cells.get(CELL + task) == data:
                expire(cells, task, Standing(data), verdict, self._rng)
        for name, record in chores.dead:
            if cells.get(WORKER + name) == record:
                self._bury(cells, name)

    def take_back(self, cells: Cells, most: int) -> None:
        """What ran out on this boot, what is due, and what waits for what is completed; a part of it, if it is much."""
        boot = self._workers.boot(cells.txn)
        if boot:
            start = LEASE_AT.pack(LEASE, boot, 0, _FIRST)
            end = LEASE_AT.pack(LEASE, boot, int(self._clock.boottime() * MICRO), _LAST)
            for key in _keys(cells.txn, start, end, most):
                cell = cells.read(key[-16:])
                if cell is None:
                    cells.delete(key)
                else:
                    expire(cells, key[-16:], cell, Verdict.SILENT, self._rng)
        for key in _keys(cells.txn, SCHEDULED, TIME_AT.pack(SCHEDULED, cells.wall, _LAST), most):
            cell = cells.read(key[-16:])
            if cell is None:
                cells.delete(key)
            else:
                cells.stand(key[-16:], cell, states.promote(cell.cell))
        go_on_freeing(cells)

    def _bury(self, cells: Cells, worker: bytes) -> None:
        with cells.txn.cursor() as cursor:
            held = [key[-16:] for key, name in _from(cursor, LEASE) if name == worker]
        for task in held[:BURY_MOST]:
            cell = cells.read(task)
            if cell is not None and cell.worker == worker:
                expire(cells, task, cell, Verdict.DEAD, self._rng)
        if len(held) <= BURY_MOST:
            cells.delete(WORKER + worker)

    def tidy(self, cells: Cells) -> None:
        """Now and then: what is past its retention, and workers of long ago."""
        now = self._clock.boottime()
        if now < self._tidy_at:
            return
        self._tidy_at = now + TIDY_SECONDS
        old = min(cells.wall, _newest(cells.txn)) - int(self._retention * MICRO)
        removed = 0
        if self._retention > 0 and old > 0:
            for state in (IS_COMPLETED, IS_CANCELLED):
                start, end = ENDED_AS[state], ENDED_AT.pack(ENDED_AS[state], old, _LAST)
                removed += len([key for key in _keys(cells.txn, start, end, TIDY_MOST) if remove(cells, key[-16:])])
        if removed >= TIDY_MOST:
            self._tidy_at = now + TIDY_SECONDS / 10  # it has to keep up
        self._forget_workers(cells)

    def _forget_workers(self, cells: Cells) -> None:
        long_ago = cells.wall / MICRO - FORGOTTEN_SECONDS
        gone = [name for name, record in entries(cells.txn) if float(record_of(record).get("at", 0)) < long_ago]
        if gone:
            with cells.txn.cursor() as cursor:
                holding = {worker for _, worker in _from(cursor, LEASE)}
            for name in gone:
                if name not in holding:
                    cells.delete(WORKER + name)


def remove(cells: Cells, task: bytes) -> bool:
    """Delete an ended task; false while somebody still has to be freed by it."""
    cell = cells.read(task)
    if cell is None:
        return False
    if cell.state == IS_COMPLETED and waited_for(cells, task.hex()):
        return False
    cells.forget(task, cell)
    return True


def _newest(txn: Transaction) -> int:
    """When the last one ended. Age counts from there at most: a clock that is far ahead deletes nothing by itself."""
    newest = 0
    with txn.cursor() as cursor:
        for state in (IS_COMPLETED, IS_CANCELLED):
            cursor.set_range(ENDED_AS[state] + b"\xff" * 24)
            if cursor.prev() and cursor.key()[:2] == ENDED_AS[state]:
                newest = max(newest, ENDED_AT.unpack(cursor.key())[1])
    return newest


def _boot(name: str) -> str:
    return name.partition("/")[0]


def _records(txn: Transaction) -> list[bytes]:
    return [record for _, record in entries(txn)]


def _is_at(cursor: Transaction, kind: bytes) -> bool:
    return bool(cursor.set_range(kind)) and cursor.key()[:1] == kind


def _from(cursor: Transaction, kind: bytes) -> list[tuple[bytes, bytes]]:
    found = []
    if cursor.set_range(kind):
        for key, value in cursor.iternext():
            if key[:1] != kind:
                break
            found.append((key, value))
    return found


def _leases_of_others(txn: Transaction, boot: int) -> list[tuple[bytes, bytes]]:
    """All but this boot's, which are skipped, not read."""
    found = []
    with txn.cursor() as cursor:
        there = cursor.set_range(LEASE)
        while there and cursor.key()[:1] == LEASE:
            if int.from_bytes(cursor.key()[1:3]) == boot:
                there = cursor.set_range(LEASE + (boot + 1).to_bytes(2))
            else:
                found.append(cursor.item())
                there = cursor.next()
    return found


def _keys(txn: Transaction, start: bytes, end: bytes, most: int) -> list[bytes]:
    found: list[bytes] = []
    with txn.cursor() as cursor:
        if cursor.set_range(start):
            for key in cursor.iternext(keys=True, values=False):
                if key > end or len(found) == most:
                    break
                found.append(key)
    return found
