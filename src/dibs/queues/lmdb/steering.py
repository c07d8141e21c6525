"""Cancel, retry, prioritise, pause, resume: each one transaction, on disk when it returns; and purge, in pages."""

from dibs import states
from dibs.clock import Clock
from dibs.errors import Refused
from dibs.facets import facet_of
from dibs.queues.lmdb.cells import Cells
from dibs.queues.lmdb.database import Database, Transaction
from dibs.queues.lmdb.known import known
from dibs.queues.lmdb.layout import (
    ENDED_AS,
    ENDED_AT,
    IS_CLAIMED,
    IS_COMPLETED,
    IS_LEAVING,
    MICRO,
    NUMBERS,
    PAUSED_KEY,
    RECORD,
    Standing,
)
from dibs.queues.lmdb.looks import not_found
from dibs.queues.lmdb.upkeep import remove
from dibs.queues.lmdb.waits import forget_waits
from dibs.states import State
from dibs.task import Task, encode, with_priority

PURGE_PAGE = 500


class Steering:
    def __init__(self, database: Database, clock: Clock, url: str) -> None:
        self._database = database
        self._clock = clock
        self._url = url

    def cancel(self, ref: str) -> Task:
        def step(txn: Transaction) -> Task:
            cells = Cells(txn, self._clock)
            task, cell = self._found(cells, ref)
            new = states.cancel(cell.cell)
            if cell.state == IS_CLAIMED:
                event = {"epoch": cell.epoch, "what": "cancelled", "worker": cell.worker.decode()}
                cells.note(task, event)
            forget_waits(cells, task, cells.record(task).get("after", ()))
            cells.stand(task, cell, new)
            cells.finish()
            return known(cells, task).task

        return self._database.write(step, durable=True)

    def retry(self, ref: str) -> Task:
        def step(txn: Transaction) -> Task:
            cells = Cells(txn, self._clock)
            task, cell = self._found(cells, ref)
            new = states.retry(cell.cell)
            key = cells.record(task).get("key")
            if key is not None:
                _take_key_back(cells, ref, key, task)
            cells.stand(task, cell, new)
            cells.finish()
            return known(cells, task).task

        return self._database.write(step, durable=True)

    def prioritise(self, ref: str, priority: int) -> Task:
        def step(txn: Transaction) -> Task:
            cells = Cells(txn, self._clock)
            task, cell = self._found(cells, ref)
            states.prioritise(cell.cell)
            found = known(cells, task).task
            if found.priority == priority:
                return found
            facet = facet_of(found)._replace(priority=priority)
            if "-" in facet.code:
                cells.describe(facet.code.encode(), facet.to_bytes())
            cells.put(RECORD + task, encode(with_priority(cells.record(task), priority)))
            cells.leave(task, cell)
            cell.facet = facet.code.encode()
            cells.enter(task, cell)
            cells.finish()
            return known(cells, task).task

        return self._database.write(step, durable=True)

    def pause(self, reason: str) -> None:
        self._database.write(lambda txn: txn.put(PAUSED_KEY, reason.encode()), durable=True)

    def resume(self) -> None:
        self._database.write(lambda txn: txn.delete(PAUSED_KEY), durable=True)

    def purge(self, state: State | str, older_than: float) -> int:
        if state not in states.TERMINAL:
            raise Refused(f"cannot purge tasks that are {state}; only completed, failed or cancelled ones")
        number = NUMBERS[State(state)]
        before = int((self._clock.wall() - older_than) * MICRO) if older_than > 0 else 2**63 - 1
        end = ENDED_AT.pack(ENDED_AS[number], max(before, 0), b"\xff" * 16)
        removed, after = 0, ENDED_AS[number]
        while after:

            def step(txn: Transaction, after: bytes = after) -> tuple[int, bytes]:
                return _purged(Cells(txn, self._clock), after, end)

            gone, after = self._database.write(step)
            removed += gone
        return removed

    def _found(self, cells: Cells, ref: str) -> tuple[bytes, Standing]:
        task = cells.resolve(ref)
        cell = None if task is None else cells.read(task)
        if task is None or cell is None:
            raise not_found(ref, self._url)
        if cell.state == IS_LEAVING:
            raise not_found(ref, self._url, cells.get(cell.place(task)))
        return task, cell


def _take_key_back(cells: Cells, ref: str, key: str, task: bytes) -> None:
    other, done = cells.named(key)
    state = cells.state(other) if other and other != task else None
    if state is not None and state <= IS_CLAIMED:
        raise Refused(f"cannot retry task {ref}: its key {key!r} is taken by live task {other.hex()}")
    cells.name(key, task, other if state == IS_COMPLETED else done)


def _purged(cells: Cells, after: bytes, end: bytes) -> tuple[int, bytes]:
    """How many of a page were deleted, and where the next begins; empty when there is none."""
    keys: list[bytes] = []
    following = b""
    with cells.txn.cursor() as cursor:
        if cursor.set_range(after):
            for key in cursor.iternext(keys=True, values=False):
                if key > end:
                    break
                if len(keys) == PURGE_PAGE:
                    following = key
                    break
                keys.append(key)
    removed = sum(remove(cells, key[-16:]) for key in keys)
    cells.finish()
    return removed, following
