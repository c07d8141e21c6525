"""Completing a task and claiming the next as it mostly goes, spelled out in one function: no step is hotter.

Mostly the lease is as it was claimed, nobody waits for anything, nothing is paused and a task is ready. Where that is
not so nothing is changed here: then it is for `completing` and `taking`, which know all cases.
"""

from dibs.clock import Clock
from dibs.queues.lmdb.completing import DONE, change_of
from dibs.queues.lmdb.database import Database, Transaction
from dibs.queues.lmdb.held import Held
from dibs.queues.lmdb.layout import (
    BLOCKED,
    CELL,
    COUNT,
    COUNTS,
    LEASE,
    LEASE_PART,
    LEASE_UNTIL,
    MICRO,
    PAUSED_KEY,
    READY,
    RECORD,
    TO_CLAIMED,
    TO_COMPLETED,
)
from dibs.queues.lmdb.taking import One, Taking

_pack = LEASE_PART.pack


def chain(
    database: Database, taking: Taking, clock: Clock, held: Held, worker: bytes, holder: bytes, boot: int, ttl: float
) -> tuple[One, float] | None:
    """The next task, and since when it is held; None when nothing was changed."""
    task, cell = held.task, held.cell
    if cell is None:
        return None
    wall, length = int(clock.wall() * MICRO), int(ttl * MICRO)
    ended = wall.to_bytes(8)
    done, lease, facet = change_of(cell, ended)
    done_key, lease_key, cell_key = DONE + ended + task, lease + task, CELL + task

    def step(txn: Transaction) -> tuple[One, float] | None:
        get, put, delete, cursor = txn.get, txn.put, txn.delete, txn.cursor()
        if get(cell_key) != cell or get(PAUSED_KEY) is not None:
            return None
        if cursor.set_range(BLOCKED) and cursor.key()[:1] == BLOCKED:
            return None
        if not cursor.set_range(READY) or (ready_key := cursor.key())[:1] != READY:
            return None
        next_task = ready_key[3:]
        next_key = CELL + next_task
        data, record = get(next_key), get(RECORD + next_task)
        if record is None:
            return None
        next_facet, _, of_facet, standing, runtime, head, tail = taking.kind(data, next_task)
        since = clock.boottime()
        now = int(since * MICRO)
        until = now + (runtime if 0 < runtime < length else length)
        part = _pack(boot, until, now, now, length, wall)
        next_cell = head + part + tail + holder
        put(cell_key, done)
        put(done_key, b"")
        delete(lease_key)
        put(next_key, next_cell)
        put(LEASE + part[:LEASE_UNTIL] + next_task, worker)
        delete(ready_key)
        if of_facet:
            delete(of_facet + next_task)
        if next_facet == facet:
            _count(txn, facet, TO_COMPLETED + TO_CLAIMED)
        else:
            _count(txn, facet, TO_COMPLETED)
            _count(txn, next_facet, TO_CLAIMED)
        return (next_task, standing, runtime, record, next_cell), since

    return database.write(step)


def _count(txn: Transaction, facet: bytes, change: int) -> None:
    key = COUNT + facet
    txn.put(key, (int.from_bytes(txn.get(key) or b"") + change).to_bytes(COUNTS.size))
