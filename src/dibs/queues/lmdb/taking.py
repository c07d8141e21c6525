"""What a claim writes for each task that it takes: spelled out, not by `stand`, since this is hot.

Most tasks are plain and new: then their cells are the same, byte for byte, and what becomes of one becomes of all.
"""

from struct import Struct

from dibs.errors import FormatError
from dibs.queues.lmdb.cells import Cells
from dibs.queues.lmdb.layout import (
    CELL,
    IS_READY,
    LEASE,
    LEASE_PART,
    LEASE_START,
    LEASE_UNTIL,
    RECORD,
    SIZE,
    TO_CLAIMED,
    facet_line,
    ready_line,
)
from dibs.states import Cell, State

MOST_KINDS = 1000
Terms = tuple[bytes, bytes, int, int, int]  # of one claim: worker, holder, boot, now, length of a lease
One = tuple[bytes, Cell, int, bytes, bytes]  # id, where it stands, runtime, record, cell
#: Of cells that are alike: facet; how keys begin in READY, and in READY_OF (empty: not there); where such a task stands
#: when it is claimed; runtime; what its cell is then before the lease's part, and between that and the holder.
Kind = tuple[bytes, bytes, bytes, Cell, int, bytes, bytes]
_FIRST_FIELDS = Struct(">BIIIq").unpack_from
_pack = LEASE_PART.pack


class Taking:
    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._kinds: dict[bytes | None, Kind] = {}  # of new tasks

    def take(self, cells: Cells, ids: list[bytes], terms: Terms) -> list[One]:
        if len(ids) == 1:
            return [self._one(cells, ids[0], terms)]
        return self._many(cells, ids, terms)

    def _one(self, cells: Cells, task: bytes, terms: Terms) -> One:
        worker, holder, boot, now, length = terms
        get, put, delete = cells.get, cells.put, cells.delete
        cell_key = CELL + task
        data, record = get(cell_key), get(RECORD + task)
        if record is None:
            raise self._damaged(task)
        facet, ready, of_facet, standing, runtime, head, tail = self.kind(data, task)
        until = now + (runtime if 0 < runtime < length else length)
        part = _pack(boot, until, now, now, length, cells.wall)
        cell = head + part + tail + holder
        put(cell_key, cell)
        put(LEASE + part[:LEASE_UNTIL] + task, worker)
        delete(ready + task)
        if of_facet:
            delete(of_facet + task)
        cells.moved(facet, TO_CLAIMED)
        return task, standing, runtime, record, cell

    def _many(self, cells: Cells, ids: list[bytes], terms: Terms) -> list[One]:
        worker, holder, boot, now, length = terms
        delete, wall = cells.delete, cells.wall
        changes: dict[bytes | None, tuple[Kind, bytes, bytes]] = {}  # kind, cell, how its key begins in LEASE
        counts: dict[bytes, int] = {}
        taken, stand, leases = [], [], []
        for task, data, record in zip(ids, cells.get_each(CELL, ids), cells.get_each(RECORD, ids), strict=True):
            if record is None:
                raise self._damaged(task)
            change = changes.get(data)
            if change is None:
                kind = self.kind(data, task)
                runtime = kind[4]
                until = now + (runtime if 0 < runtime < length else length)
                part = _pack(boot, until, now, now, length, wall)
                change = changes[data] = kind, kind[5] + part + kind[6] + holder, LEASE + part[:LEASE_UNTIL]
            (facet, ready, of_facet, standing, runtime, _, _), cell, lease = change
            counts[facet] = counts.get(facet, 0) + 1
            stand.append((CELL + task, cell))
            leases.append((lease + task, worker))
            delete(ready + task)
            if of_facet:
                delete(of_facet + task)
            taken.append((task, standing, runtime, record, cell))
        cells.put_many(stand)
        cells.put_many(leases)
        for facet, number in counts.items():
            cells.moved(facet, TO_CLAIMED, number)
        return taken

    def kind(self, data: bytes | None, task: bytes) -> Kind:
        """FormatError when there is no cell, or it is not ready."""
        kind = self._kinds.get(data)
        if kind is not None:
            return kind
        if data is None or data[0] != IS_READY:
            raise self._damaged(task)
        _, epoch, attempts, deaths, runtime = _FIRST_FIELDS(data)
        new = epoch == 0
        epoch += 1
        facet = data[SIZE:].partition(b"\0")[0]
        kind = (
            facet,
            ready_line(facet),
            facet_line(facet) if b"-" in facet else b"",
            Cell(State.CLAIMED, epoch, attempts, deaths),
            runtime,
            b"\x03" + epoch.to_bytes(4) + data[5:LEASE_START],
            facet + b"\0",
        )
        if new:
            if len(self._kinds) >= MOST_KINDS:
                self._kinds.clear()
            self._kinds[data] = kind
        return kind

    def _damaged(self, task: bytes) -> FormatError:
        return FormatError(f"queue in {self._folder} is damaged: task {task.hex()} is not whole")
