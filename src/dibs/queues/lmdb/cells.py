"""What every step stands on: how a task's cell moves from state to state, within one transaction.

Whoever changes something makes a `Cells` of the transaction, and calls `finish` at the end.
"""

from typing import Any

from dibs import states
from dibs.clock import Clock
from dibs.queues.history import LONGEST
from dibs.queues.lmdb import layout
from dibs.queues.lmdb.layout import (
    CELL,
    COUNT,
    COUNTS,
    FACET,
    IS_CLAIMED,
    IS_READY,
    KEY,
    MICRO,
    NUMBERS,
    ONE_MORE,
    PAST,
    RECORD,
    Standing,
    hashed,
    micro,
)
from dibs.states import State
from dibs.task import decode, encode, is_id

Transaction = Any  # py-lmdb's


class Cells:
    def __init__(self, txn: Transaction, clock: Clock) -> None:
        self.txn = txn
        self.get = txn.get
        self.put = txn.put
        self.delete = txn.delete
        self.wall = int(clock.wall() * MICRO)  # one time for the whole transaction
        self._counted: dict[bytes, int] = {}

    # Look

    def read(self, task: bytes) -> Standing | None:
        data = self.get(CELL + task)
        return None if data is None else Standing(data)

    def state(self, task: bytes) -> int | None:
        data = self.get(CELL + task)
        return None if data is None else data[0]

    def record(self, task: bytes) -> dict[str, Any]:
        record: dict[str, Any] = decode(self.get(RECORD + task) or b"{}")
        return record

    def resolve(self, ref: str) -> bytes | None:
        """The task that an id or a key names."""
        if is_id(ref):
            return bytes.fromhex(ref)
        named = self.get(KEY + hashed(ref))
        return None if named is None else named[:16]

    def get_each(self, table: bytes, tasks: list[bytes]) -> list[bytes | None]:
        """In the same order; None for what is not there."""
        if len(tasks) == 1:
            return [self.get(table + tasks[0])]
        keys = [table + task for task in tasks]
        with self.txn.cursor() as cursor:
            pairs = cursor.getmulti(keys)
        if len(pairs) == len(keys):
            return [value for _, value in pairs]
        found = dict(pairs)
        return [found.get(key) for key in keys]

    def put_many(self, items: list[tuple[bytes, bytes]]) -> None:
        if len(items) == 1:
            self.put(*items[0])
            return
        with self.txn.cursor() as cursor:
            cursor.putmulti(items)

    # Move

    def enter(self, task: bytes, cell: Standing, value: bytes = b"") -> None:
        self.put(CELL + task, cell.packed())
        self.put(cell.place(task), value)
        if cell.state == IS_READY and b"-" in cell.facet:
            self.put(layout.facet_line(cell.facet) + task, b"")
        self.count(cell.facet, cell.state, 1)

    def leave(self, task: bytes, cell: Standing) -> None:
        self.delete(cell.place(task))
        if cell.state == IS_READY and b"-" in cell.facet:
            self.delete(layout.facet_line(cell.facet) + task)
        self.count(cell.facet, cell.state, -1)

    def stand(self, task: bytes, cell: Standing, new: states.Cell) -> None:
        """From one state to another, which is not `claimed`."""
        self.leave(task, cell)
        cell.state = NUMBERS[new.state]
        cell.epoch, cell.attempts, cell.deaths = new.epoch, new.attempts, new.deaths
        if new.state is State.SCHEDULED:
            cell.when = micro(new.due)
        else:
            cell.when = self.wall if new.state in states.TERMINAL else 0
        self.enter(task, cell)

    def due(self, delay: float) -> float:
        """The time after which to be ready; 0 for now."""
        return self.wall / MICRO + delay if delay > 0 else 0.0

    def note(self, task: bytes, event: dict[str, Any]) -> None:
        event["at"] = round(self.wall / MICRO, 3)
        lines = (self.get(PAST + task) or b"") + encode(event)
        if lines.count(b"\n") > LONGEST:
            lines = b"\n".join(lines.split(b"\n")[-LONGEST - 1 :])
        self.put(PAST + task, lines)

    def count(self, facet: bytes, state: int, number: int) -> None:
        self._counted[facet] = self._counted.get(facet, 0) + ONE_MORE[state] * number

    def moved(self, facet: bytes, move: int, number: int = 1) -> None:
        """So many of a facet from one state to another: `move` is the difference of their ONE_MORE."""
        self._counted[facet] = self._counted.get(facet, 0) + move * number

    def describe(self, code: bytes, facet: bytes) -> None:
        self.put(FACET + code, facet, overwrite=False)

    def finish(self) -> None:
        """All counts of a facet are changed by one addition: none of them is ever below zero."""
        for facet, change in self._counted.items():
            if change:
                key = COUNT + facet
                self.put(key, (int.from_bytes(self.get(key) or b"") + change).to_bytes(COUNTS.size))

    def forget(self, task: bytes, cell: Standing) -> None:
        """Delete it whole."""
        self.leave(task, cell)
        key = self.record(task).get("key")
        if key is not None:
            self.forget_key(key, task)
        for table in (CELL, RECORD, PAST):
            self.delete(table + task)

    # Keys

    def named(self, key: str) -> tuple[bytes, bytes]:
        """The last task with this key, and the last that completed before that one."""
        found = self.get(KEY + hashed(key)) or b""
        return found[:16], found[16:]

    def name(self, key: str, task: bytes, done: bytes) -> None:
        self.put(KEY + hashed(key), task + done)

    def forget_key(self, key: str, task: bytes) -> None:
        last, done = self.named(key)
        left = [other for other in (last, done) if other and other != task]
        if left:
            self.put(KEY + hashed(key), b"".join(left))
        elif last:
            self.delete(KEY + hashed(key))


def held_as(cell: Standing | None, epoch: int, holder: bytes) -> bool:
    return cell is not None and cell.state == IS_CLAIMED and cell.epoch == epoch and cell.holder == holder
