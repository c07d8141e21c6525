"""Tasks that leave a stored queue whole: the cell says where to, and allows no other step; its marker is in `moving/`.

A cell that was swapped by a mover who died before it made the marker is met by its old one: whoever lists the tasks of
its former state puts that right, so look at `departed` after `export` too.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from dibs.keys import Keys
from dibs.lease import Record
from dibs.queues.parcel import Parcel
from dibs.queues.stored.body import Known, Leaving
from dibs.queues.stored.cells import Cells
from dibs.queues.stored.layout import leaving_folder
from dibs.queues.stored.looks import Looks
from dibs.queues.stored.waits import Waits
from dibs.states import Cell, State
from dibs.stores.store import Changed
from dibs.task import is_id
from dibs.values import replace


class Departing:
    def __init__(self, cells: Cells, looks: Looks, keys: Keys, waits: Waits) -> None:
        self._cells = cells
        self._looks = looks
        self._keys = keys
        self._waits = waits

    def export(self, state: State) -> Iterator[Parcel]:
        for known in self._looks.known(state):
            yield self._packed(known)

    def find(self, ref: str) -> Parcel | None:
        """Raises BadInput when it is damaged."""
        task_id = ref if is_id(ref) else self._keys.lookup(ref)
        known = None if task_id is None else self._cells.read(task_id)
        return None if known is None else self._packed(known)

    def depart(self, parcels: Sequence[Parcel], to: str) -> list[Parcel]:
        gone = []
        for parcel in parcels:
            known: Known = parcel.token
            cell, task = known.cell, known.body.task
            body = replace(known.body.moved(), leaving=Leaving(to, cell.state, cell.due))
            record = Record(Cell(State.CANCELLED, cell.epoch, cell.attempts, cell.deaths))
            with suppress(Changed):  # it has moved on, and stays
                gone.append(replace(parcel, to=to, token=self._cells.move(known, record, body)))
                self._waits.unpoint(task)
                if task.key is not None:
                    self._keys.close(task.key, task.id, State.CANCELLED)
        return gone

    def departed(self, to: str | None = None) -> Iterator[Parcel]:
        for key in self._cells.store.list("moving/" if to is None else leaving_folder(to)):
            task_id = key.rpartition("/")[2].partition(".")[0]
            known = self._cells.read_any(task_id) if is_id(task_id) else None
            if known is not None and known.marker == key and known.body.leaving and not known.body.purged:
                yield self._packed(known)
            elif known is None or known.body.purged or known.body.leaving is None:
                self._finish(key, known)

    def leaving(self, task_id: str) -> str | None:
        """Where it is on its way to, if it is."""
        known = self._cells.read_any(task_id)
        return known.body.leaving.to if known is not None and known.body.leaving is not None else None

    def dismiss(self, parcels: Iterable[Parcel]) -> None:
        for parcel in parcels:
            task = parcel.task
            known: Known = parcel.token
            if self._cells.remove(known) and task.key is not None:
                self._keys.forget(task.key, task.id, self._cells.state_of)

    def _finish(self, key: str, known: Known | None) -> None:
        """A marker whose mover died after it had deleted the cell, or while it did."""
        if known is not None and known.body.purged:
            self._cells.remove(known)
        else:
            self._cells.store.discard(key)

    def _packed(self, known: Known) -> Parcel:
        task, cell, leaving = self._cells.whole(known), known.cell, known.body.leaving
        due, to = cell.due, ""
        if leaving is not None:
            task, due, to = replace(task, state=State(leaving.state)), leaving.due, leaving.to
        holder = cell.holder if cell.state is State.COMPLETED else ""
        return Parcel(task=task, due=due, holder=holder, history=known.body.history, to=to, token=known)
