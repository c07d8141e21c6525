"""A stored queue's tasks: each one cell, changed by compare-and-set, with one marker to find it by.

    push   create the cell, then its marker
    move   swap the cell, then create the new marker, then delete the old one

Whoever dies in between leaves the old marker, and whoever meets a marker that its cell does not call for
finishes the move: right marker first, then the wrong one away. So a live task always has a marker, and
what a marker says is never believed. `announce` creates the marker before the swap instead, where
nobody would ever meet the old one; if it dies between, the marker is of a move to come, and is left alone for long.
"""

from contextlib import suppress

from dibs.errors import BadInput, StorageError
from dibs.lease import Leases, Record, Seen
from dibs.queues.stored.body import Body, Known, body_of
from dibs.queues.stored.layout import Marker, cell_key, payload_key
from dibs.queues.views import Event
from dibs.states import Cell, State
from dibs.stores import settle
from dibs.stores.store import Changed, Exists
from dibs.task import Task, decode, encode
from dibs.values import replace

LARGE_BYTES = 16_384
LONG_SECONDS = 3600.0
MARK = b"-\n"


class Cells:
    def __init__(self, leases: Leases) -> None:
        self.leases = leases
        self.store = leases.store

    def push(self, task: Task, cell: Cell, payload: bytes | None) -> Known:
        """`payload` is given when it is large and kept apart; it is there before its task is."""
        if payload is not None:
            self._create_once(payload_key(task.id), payload)
        body = Body(task, apart=payload is not None)
        record = Record(cell, data=body.to_data())
        try:
            known = Known(body, self.leases.create(cell_key(task.id), record))
        except Exists:  # ids are unique for ever: this is ours, its answer was lost, and it has even moved on since
            known = self._read(task.id) or Known(body, Seen(record, ""))
            if known.seen.version:
                self.ensure_marker(known)
            return known
        self._create_once(known.marker, MARK)
        return known

    def read(self, task_id: str) -> Known | None:
        """Raises BadInput when the cell is damaged."""
        known = self._read(task_id)
        return None if known is None or known.body.purged else known

    def _read(self, task_id: str) -> Known | None:
        seen = self.leases.read(cell_key(task_id))
        return None if seen is None else Known(body_of(seen.record), seen)

    def whole(self, known: Known) -> Task:
        """The task with its payload, wherever that is kept."""
        if not known.body.apart:
            return known.task
        entry = self.store.get(payload_key(known.task.id))
        return replace(known.task, payload=None if entry is None else decode(entry.data))

    def state_of(self, task_id: str) -> State | None:
        """None when there is no such task. A damaged one counts as there, so that nobody takes its place."""
        try:
            known = self.read(task_id)
        except BadInput:
            return State.FAILED
        return None if known is None else known.cell.state

    def move(self, known: Known, record: Record, body: Body) -> Known:
        """Raises Changed when the cell is no longer as known."""
        record = replace(record, data=body.to_data())
        moved = Known(body, self.leases.swap(cell_key(known.task.id), known.seen.version, record))
        self.mark(known.marker, moved)
        return moved

    def announce(self, known: Known, record: Record, body: Body) -> Known:
        """As `move`, marker first. If the swap is refused the marker is one that no cell calls for."""
        self._create_once(body.marker(record.cell), encode({"announced": self.store.now()}))
        return self.move(known, record, body)

    def mark(self, before: str, now: Known) -> None:
        """The step is done, whatever becomes of the markers: whoever meets the old one finishes this."""
        with suppress(StorageError):
            self._create_once(now.marker, MARK)
            self.store.delete(before)

    def settle(self, marker: Marker) -> Known | None:
        """The task that a marker was found for, if the marker is right; else the marker is put right."""
        try:
            known = self._read(marker.id)
        except BadInput:
            return None  # damaged: for a person to look at
        if known is None:
            self.store.delete(marker.key)
        elif known.body.purged:
            self._delete(known)
        elif known.marker == marker.key:
            return known
        elif marker.move <= known.body.move:
            self.ensure_marker(known)
            self.store.delete(marker.key)
        elif self._announced_long_ago(marker):
            self.store.delete(marker.key)
        return None

    def _announced_long_ago(self, marker: Marker) -> bool:
        entry = self.store.get(marker.key)
        try:
            return entry is not None and self.store.now() - float(decode(entry.data)["announced"]) > LONG_SECONDS
        except (BadInput, KeyError, TypeError, ValueError):
            return False

    def ensure_marker(self, known: Known) -> None:
        """For a task whose pusher or mover may have died before it made the marker. If it has moved on meanwhile,
        its mover may have looked for this marker too early to delete it. A marker is only deleted when the one
        that the cell calls for now is there: its mover may be dead too, and a task with none is never found."""
        outdated = []
        while True:
            self._create_once(known.marker, MARK)
            now = self._read(known.task.id)
            if now is not None and now.marker == known.marker:
                break
            outdated.append(known.marker)
            if now is None:
                break
            known = now
        for marker in outdated:
            self.store.delete(marker)

    def remove(self, known: Known) -> bool:
        """Delete an ended task: its payload, then its cell, then its marker; anybody may finish this.
        The cell is first swapped for one that allows no further step, so nobody needs a conditional delete."""
        last = replace(known.seen.record, data=replace(known.body, purged=True).to_data())
        try:
            self.leases.swap(cell_key(known.task.id), known.seen.version, last)
        except Changed:
            return False
        self._delete(known)
        return True

    def _delete(self, known: Known) -> None:
        if known.body.apart:
            self.store.delete(payload_key(known.task.id))
        self.store.delete(cell_key(known.task.id))
        self.store.delete(known.marker)

    def _create_once(self, key: str, data: bytes) -> None:
        with suppress(Exists):
            settle.create(self.store, key, data)


def parted(task: Task) -> bytes | None:
    """The payload's bytes when they are too many to be rewritten with every renewal."""
    data = encode(task.payload)
    return data if len(data) > LARGE_BYTES else None


def event(known: Known, what: str, at: float, error: str = "", result: object = None) -> Event:
    """How the lease that the cell is under ended."""
    holder = known.seen.record.holder
    worker = holder.worker if holder else known.cell.holder
    return Event(epoch=known.cell.epoch, what=what, worker=worker, at=at, error=error, result=result)
