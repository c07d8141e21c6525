"""What a completion writes: spelled out, not by `stand`, since this is hot. As in `taking`, what was claimed together
mostly has the same cell."""

from collections.abc import Sequence
from typing import Any

from dibs.queues.lmdb.cells import Cells, held_as
from dibs.queues.lmdb.held import Held
from dibs.queues.lmdb.layout import (
    CELL,
    ENDED_AS,
    IS_COMPLETED,
    LEASE,
    LEASE_START,
    LEASE_UNTIL,
    SIZE,
    TO_COMPLETED,
    Standing,
    worker_of,
)

#: The new cell, how its key begins in LEASE, and its facet.
Change = tuple[bytes, bytes, bytes]
DONE = ENDED_AS[IS_COMPLETED]
_WHEN, _AFTER = LEASE_START + 2, LEASE_START + LEASE_UNTIL


def complete(cells: Cells, leases: Sequence[tuple[Held, Any]]) -> list[Standing | bool | None]:
    """For each True, or what there is instead of the lease."""
    ended = cells.wall.to_bytes(8)
    done_key = DONE + ended
    answers: list[Standing | bool | None] = []
    stand, done = [], []
    changes: dict[bytes, Change] = {}
    counts: dict[bytes, int] = {}
    seen: set[bytes] = set()
    found = cells.get_each(CELL, [held.task for held, _ in leases])
    for (held, result), data in zip(leases, found, strict=True):
        task = held.task
        if data is None or task in seen:  # one that is given twice is completed once
            answers.append(None)
            continue
        if data != held.cell and not held_as(now := Standing(data), held.epoch, held.holder):
            answers.append(now)
            continue
        seen.add(task)
        change = changes.get(data)
        if change is None:
            change = changes[data] = change_of(data, ended)
        cell, lease, facet = change
        counts[facet] = counts.get(facet, 0) + 1
        stand.append((CELL + task, cell))
        done.append((done_key + task, b""))
        cells.delete(lease + task)
        if result is not None:
            _note(cells, held, result)
        answers.append(True)
    if stand:
        cells.put_many(stand)
        cells.put_many(done)
    for facet, number in counts.items():
        cells.moved(facet, TO_COMPLETED, number)
    return answers


def complete_one(cells: Cells, held: Held, result: Any) -> Standing | bool | None:
    """True, or what there is instead of the lease."""
    task, ended = held.task, cells.wall.to_bytes(8)
    data = cells.get(CELL + task)
    if data is None:
        return None
    if data != held.cell and not held_as(now := Standing(data), held.epoch, held.holder):
        return now
    cell, lease, facet = change_of(data, ended)
    cells.put(CELL + task, cell)
    cells.put(DONE + ended + task, b"")
    cells.delete(lease + task)
    if result is not None:
        _note(cells, held, result)
    cells.moved(facet, TO_COMPLETED)
    return True


def change_of(data: bytes, ended: bytes) -> Change:
    cell = b"\x04" + data[1:_WHEN] + ended + data[_AFTER:]
    return cell, LEASE + data[LEASE_START:_AFTER], data[SIZE:].partition(b"\0")[0]


def _note(cells: Cells, held: Held, result: Any) -> None:
    worker = worker_of(held.holder).decode()
    cells.note(held.task, {"epoch": held.epoch, "what": "completed", "worker": worker, "result": result})
