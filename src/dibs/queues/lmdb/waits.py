"""Who waits for what: pointers from a dependency to those that it holds up, and freeing them when it is completed."""

from collections.abc import Iterable, Sequence

from dibs import states
from dibs.queues.lmdb.cells import Cells
from dibs.queues.lmdb.layout import BLOCKED, FREEING, IS_BLOCKED, IS_COMPLETED, MICRO, WAITS, hashed

FEW = 100  # of anything done besides what was asked


def must_wait(cells: Cells, task: bytes, after: Sequence[str]) -> bool:
    """Points from each unmet dependency to the task; false when all are completed."""
    unmet = False
    for ref in after:
        if not _completed(cells, ref):
            cells.put(WAITS + hashed(ref) + task, b"")
            unmet = True
    return unmet


def forget_waits(cells: Cells, task: bytes, after: Iterable[str]) -> None:
    for ref in after:
        cells.delete(WAITS + hashed(ref) + task)


def anybody_waits(cells: Cells) -> bool:
    cursor = cells.txn.cursor()
    return bool(cursor.set_range(BLOCKED)) and cursor.key()[:1] == BLOCKED


def waited_for(cells: Cells, ref: str) -> bool:
    return bool(_waiting(cells, ref, 1))


def free_waiting(cells: Cells, ref: str) -> None:
    """What waited for a completed task, a few at a time; the rest is left to later claims."""
    waiting = _waiting(cells, ref, FEW + 1)
    if not waiting:
        return
    if _completed(cells, ref):
        for task in waiting[:FEW]:
            cells.delete(WAITS + hashed(ref) + task)
            cell = cells.read(task)
            if cell is None or cell.state != IS_BLOCKED:
                continue
            record = cells.record(task)
            if not must_wait(cells, task, record.get("after", ())):
                due = record.get("not_before") or 0.0
                cells.stand(task, cell, states.promote(cell.cell, due if due * MICRO > cells.wall else 0.0))
        if len(waiting) > FEW:
            cells.put(FREEING + hashed(ref), ref.encode())
            return
    cells.delete(FREEING + hashed(ref))


def go_on_freeing(cells: Cells) -> bool:
    """False when there is nothing left to free."""
    with cells.txn.cursor() as cursor:
        if not cursor.set_range(FREEING) or cursor.key()[:1] != FREEING:
            return False
        ref = cursor.value().decode()
    free_waiting(cells, ref)
    if not waited_for(cells, ref):
        cells.delete(FREEING + hashed(ref))
    return True


def _waiting(cells: Cells, ref: str, most: int) -> list[bytes]:
    prefix = WAITS + hashed(ref)
    found: list[bytes] = []
    with cells.txn.cursor() as cursor:
        if cursor.set_range(prefix):
            for key in cursor.iternext(keys=True, values=False):
                if not key.startswith(prefix) or len(found) == most:
                    break
                found.append(key[-16:])
    return found


def _completed(cells: Cells, ref: str) -> bool:
    task = cells.resolve(ref)
    return task is not None and cells.state(task) == IS_COMPLETED
