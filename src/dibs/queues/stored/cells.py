"""A stored queue's tasks: each one cell, changed by compare-and-set, with one marker to find it by.

    push   create the seed; or, of a task with more to it, the cell and then its marker
    move   swap the cell, then create the new marker, then delete the old one

The first step of a seed creates its cell, and then looks whether the seed is still there: who slept for long in between
may have made a cell for a task that is over and purged, and must undo that. A seed is created by its push alone.

Whoever dies in between leaves the old marker, and whoever meets a marker that its cell does not call for
finishes the move: right marker first, then the wrong one away. So a live task always has a marker, and
what a marker says is never believed. `announce` creates the marker before the swap instead, where
nobody would ever meet the old one; if it dies between, the marker is of a move to come, and is left alone for long.
"""

from collections.abc import Callable
from contextlib import suppress

from dibs.errors import BadInput, StorageError
from dibs.lease import Leases, Record, Seen
from dibs.queues.stored.body import Body, Known, body_of, seed_of
from dibs.queues.stored.layout import Marker, cell_key, parse_marker, payload_key, shard
from dibs.queues.views import Event
from dibs.states import Cell, State
from dibs.stores import settle
from dibs.stores.store import Changed, Exists
from dibs.task import Task, decode, encode, task_from_record
from dibs.values import replace

LARGE_BYTES = 16_384
LONG_SECONDS = 3600.0
MARK = b"-\n"
_FRESH = Cell(State.READY)


class Cells:
    def __init__(self, leases: Leases) -> None:
        self.leases = leases
        self.store = leases.store
        self.ready: Callable[[str], None] = lambda key: None  # is told the marker of what was made ready here

    def push(self, task: Task, cell: Cell, payload: bytes | None) -> Known:
        """`payload` is given when it is large and kept apart; it is there before its task is."""
        if cell == _FRESH and payload is None and not task.key and not task.after and task.max_runtime is None:
            return self._sow(task)
        if payload is not None:
            self._create_once(payload_key(task.id), payload)
        body = Body(task, apart=payload is not None)
        record = Record(cell, data=body.to_data())
        try:
            known = Known(body, self.leases.create(cell_key(task.id), record))
        except Exists:  # ids are unique for ever: this is ours, its answer was lost, and it has even moved on since
            known = self.read_any(task.id) or Known(body, Seen(record, ""))
            if known.seen.version:
                self.ensure_marker(known)
            return known
        self._create_once(known.marker, MARK)
        self._tell(known)
        return known

    def _tell(self, known: Known) -> None:
        if known.cell.state is State.READY:
            self.ready(known.marker)

    def read(self, task_id: str) -> Known | None:
        """Raises BadInput when the cell is damaged."""
        known = self.read_any(task_id)
        return None if known is None or known.body.purged or known.body.leaving else known

    def read_any(self, task_id: str) -> Known | None:
        version = ""
        while (seen := self.leases.read(cell_key(task_id))) is not None:
            known = self.known(seen)
            if known is not None or seen.version == version:
                return known
            version = seen.version  # its seed is gone: look again, it has moved on
        return self._find_seed(task_id)

    def known(self, seen: Seen) -> Known | None:
        """The task of a cell as it was read; None when its record is in a seed that is gone."""
        seed = seed_of(seen.record)
        if seed is None:
            return Known(body_of(seen.record), seen)
        task = self.sown(seed)
        return None if task is None else Known(body_of(seen.record, task), seen)

    # Seeds

    def _sow(self, task: Task) -> Known:
        body = Body(task, 0)
        self._create_once(body.seed, encode(task.to_record()))
        self.ready(body.seed)
        return _untouched(task)

    def sown(self, seed: str) -> Task | None:
        """The task in a seed. Raises BadInput when it is damaged."""
        entry = self.store.get(seed)
        if entry is None:
            return None
        task = task_from_record(decode(entry.data))
        if task.id not in seed:
            raise BadInput(f"the record in {seed} is that of task {task.id}")
        return task

    def _find_seed(self, task_id: str) -> Known | None:
        for level in self.store.folders("pending/"):
            folder = f"pending/{level}/{shard(task_id)}/"
            key = next(self.store.list(folder, folder + task_id), "")
            marker = parse_marker(key)
            if marker is not None and marker.seed and marker.id == task_id:
                task = self.sown(key)
                if task is not None:
                    return _untouched(task)
        seen = self.leases.read(cell_key(task_id))  # its first step may just have been taken
        return None if seen is None else self.known(seen)

    def touch(self, marker: Marker, record: Record) -> Known | None:
        """The first claim of a seed. None when there is nothing to claim any more; raises Changed when somebody else
        has taken the first step, BadInput when the seed is damaged."""
        seen = self._first(marker.id, replace(record, data={"seed": marker.key, "move": 0}))
        try:
            task = self.sown(marker.key)
        except BadInput:
            self._undo(marker.id, seen)
            raise
        if task is None:
            self._undo(marker.id, seen)
            return None
        return Known(body_of(seen.record, task), seen)

    def _first(self, task_id: str, record: Record) -> Seen:
        try:
            return self.leases.create(cell_key(task_id), record)
        except Exists:
            raise Changed(task_id) from None

    def _undo(self, task_id: str, seen: Seen) -> None:
        with suppress(Changed):
            gone = Body(Task(id=task_id), purged=True)
            self.leases.swap(cell_key(task_id), seen.version, replace(seen.record, data=gone.to_data()))
            self.store.delete(cell_key(task_id))

    def _swap(self, known: Known, record: Record) -> Seen:
        if known.seen.version:
            return self.leases.swap(cell_key(known.task.id), known.seen.version, record)
        seen = self._first(known.task.id, record)
        if self.store.get(known.marker) is None and self.store.get(body_of(record).marker(record.cell)) is None:
            self._undo(known.task.id, seen)
            raise Changed(known.task.id)
        return seen  # if the seed is gone and our marker there, somebody met both, and went on for us

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
        moved = Known(body, self._swap(known, record))
        self.mark(known.marker, moved)
        return moved

    def announce(self, known: Known, record: Record, body: Body) -> Known:
        """As `move`, marker first. If the swap is refused the marker is one that no cell calls for."""
        self._create_once(body.marker(record.cell), encode({"announced": self.store.now()}))
        return self.move(known, record, body)

    def mark(self, before: str, now: Known) -> None:
        """The step is done, whatever becomes of the markers: whoever meets the old one finishes this."""
        after = now.marker
        if before == after:
            return
        with suppress(StorageError):
            self._create_once(after, MARK)
            self._tell(now)
            self._drop(before)

    def _drop(self, marker: str) -> None:
        """A seed that stays for a while is told by its cell; any other marker would be counted."""
        found = parse_marker(marker)
        (self.store.discard if found is not None and found.seed else self.store.delete)(marker)

    def settle(self, marker: Marker) -> Known | None:
        """The task that a marker was found for, if the marker is right; else the marker is put right."""
        try:
            known = self._read_seed(marker) if marker.seed else self.read_any(marker.id)
        except BadInput:
            return None  # damaged: for a person to look at
        if known is None:
            if not marker.seed:
                self._drop(marker.key)
        elif known.body.purged:
            self._delete(known)
        elif known.marker == marker.key:
            return known
        elif marker.seed and self.store.get(marker.key) is None:
            pass  # an old listing; and to make a marker would vouch for a cell that may have to be undone, see `_swap`
        elif marker.move <= known.body.move:
            self.ensure_marker(known)
            self._drop(marker.key)
        elif self._announced_long_ago(marker):
            self._drop(marker.key)
        return None

    def _read_seed(self, marker: Marker) -> Known | None:
        seen = self.leases.read(cell_key(marker.id))
        if seen is not None:
            return self.known(seen)
        task = self.sown(marker.key)
        return None if task is None else _untouched(task)

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
        while not known.body.seeded:
            self._create_once(known.marker, MARK)
            now = self.read_any(known.task.id)
            if now is not None and now.marker == known.marker:
                self._tell(now)
                break
            outdated.append(known.marker)
            if now is None:
                break
            known = now
        for marker in outdated:
            self._drop(marker)

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
        self.store.delete(known.body.seed)  # one left behind would look untouched once the cell is gone
        if known.body.apart:
            self.store.delete(payload_key(known.task.id))
        self.store.delete(cell_key(known.task.id))
        self.store.delete(known.marker)

    def _create_once(self, key: str, data: bytes) -> None:
        with suppress(Exists):
            settle.create(self.store, key, data)


def _untouched(task: Task) -> Known:
    return Known(Body(task, 0), Seen(Record(_FRESH), ""))


def parted(task: Task) -> bytes | None:
    """The payload's bytes when they are too many to be rewritten with every renewal."""
    data = encode(task.payload)
    return data if len(data) > LARGE_BYTES else None


def event(known: Known, what: str, at: float, error: str = "", result: object = None) -> Event:
    """How the lease that the cell is under ended."""
    holder = known.seen.record.holder
    worker = holder.worker if holder else known.cell.holder
    return Event(epoch=known.cell.epoch, what=what, worker=worker, at=at, error=error, result=result)
