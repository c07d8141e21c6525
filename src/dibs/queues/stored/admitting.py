"""Tasks that come into a stored queue whole, from another: the cell by create-if-absent, then its marker.

What the task leans on (facet, pointers, large payload, key) is there before it, as with a push. Never as a seed: a
seed is created by its push alone. An id that has a cell, or a seed, is there already.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from dibs.clock import Clock
from dibs.errors import BadInput, StorageError
from dibs.facets import facet_of
from dibs.keys import Keys
from dibs.lease import Record
from dibs.queues.history import LONGEST
from dibs.queues.parcel import Outcome, Parcel
from dibs.queues.stored.body import Body, Known
from dibs.queues.stored.cells import Cells, parted
from dibs.queues.stored.known_facets import KnownFacets
from dibs.queues.stored.layout import cell_key, payload_key
from dibs.queues.stored.steps import Steps
from dibs.queues.stored.waits import Waits
from dibs.states import LIVE, TERMINAL, Cell, State
from dibs.stores import settle
from dibs.stores.store import Changed, Exists
from dibs.task import is_id
from dibs.values import replace

Find = Callable[[str], State | None]


class Admitter:
    def __init__(
        self, cells: Cells, keys: Keys, waits: Waits, facets: KnownFacets, steps: Steps, clock: Clock, find: Find
    ) -> None:
        self._cells = cells
        self._keys = keys
        self._waits = waits
        self._facets = facets
        self._steps = steps
        self._clock = clock
        self._find = find

    def admit(self, parcels: Sequence[Parcel]) -> dict[str, Outcome]:
        outcomes: dict[str, Outcome] = {}
        for parcel in parcels:
            if parcel.id not in outcomes:
                outcomes[parcel.id] = self._admit(_fitting(parcel))
        return outcomes

    def missing(self, ids: Iterable[str]) -> set[str]:
        return {task_id for task_id in ids if self._cells.read_any(task_id) is None}

    def _admit(self, parcel: Parcel) -> Outcome:
        known = self._there(parcel.id)
        if known is None and parcel.task.key is not None and parcel.state in LIVE:
            return self._let_in_keyed(parcel, parcel.task.key)
        outcome = self._let_in(parcel) if known is None else self._met(known)
        if parcel.task.key is not None and parcel.state not in LIVE and outcome is not Outcome.LEAVING:
            self._name_ended(parcel)  # also if it was there: whoever put it there may have died before this
        return outcome

    def _there(self, task_id: str) -> Known | None:
        try:
            return self._cells.read_any(task_id)
        except BadInput as error:
            raise StorageError(f"task {task_id} is damaged where it is to be moved to: {error}; purge it") from None

    def _met(self, known: Known) -> Outcome:
        """Its admitter may have died before it made the marker."""
        if known.body.purged:
            return Outcome.THERE
        self._cells.ensure_marker(known)
        if known.body.leaving is not None:
            return Outcome.LEAVING
        self._follow_up(known.cell.state, known)
        return Outcome.THERE

    def _let_in_keyed(self, parcel: Parcel, key: str) -> Outcome:
        owner = self._keys.acquire(key, parcel.id, parcel.task.unique, self._find)
        now = round(self._clock.wall(), 3)
        if owner != parcel.id:
            self._let_in(parcel.refused(owner, now))
            return Outcome.DUPLICATE
        try:
            outcome = self._let_in(parcel)
        except StorageError:
            with suppress(StorageError):
                self._keys.close(key, parcel.id, State.CANCELLED)
            raise
        confirmed = self._keys.confirm(key, parcel.id)
        if confirmed in (None, parcel.id):
            return outcome
        self._give_up_key(parcel.refused(confirmed or "", now))
        return Outcome.DUPLICATE

    def _let_in(self, parcel: Parcel) -> Outcome:
        task, cell = parcel.task, parcel.cell
        self._facets.register(facet_of(task))
        if cell.state is State.BLOCKED:
            self._waits.point(task)
        payload = parted(task)
        if payload is not None:
            with suppress(Exists):
                settle.create(self._cells.store, payload_key(task.id), payload)
        ended = self._cells.store.now() if cell.state in TERMINAL else 0.0
        body = Body(task, 1, parcel.history[-LONGEST:], ended, apart=payload is not None)
        record = Record(cell, data=body.to_data())
        try:
            known = Known(body, self._cells.leases.create(cell_key(task.id), record))
        except Exists:  # another mover was faster
            met = self._there(task.id)
            return Outcome.THERE if met is None else self._met(met)
        self._cells.ensure_marker(known)
        self._follow_up(cell.state, known)
        return Outcome.ADDED

    def _follow_up(self, state: State, known: Known) -> None:
        task = known.body.task
        if state is State.BLOCKED:
            self._steps.unblock(task.id)
        elif state is State.COMPLETED:
            for waiting in self._waits.waiting_for(task):
                self._steps.unblock(waiting)

    def _give_up_key(self, refused: Parcel) -> None:
        """Somebody took the key for that of a pusher who seemed to be dead: us."""
        while (known := self._cells.read(refused.id)) is not None and known.cell.state in LIVE:
            failed = Cell(State.FAILED, known.cell.epoch + 1, known.cell.attempts, known.cell.deaths)
            event = replace(refused.history[-1], epoch=failed.epoch)
            with suppress(Changed):
                self._cells.move(known, Record(failed), known.body.moved(event, self._cells.store.now()))

    def _name_ended(self, parcel: Parcel) -> None:
        """One that does not hold its key can still be looked up by it, unless that names another."""
        key = parcel.task.key or ""
        if self._keys.lookup(key) is None:
            if self._keys.acquire(key, parcel.id, "live", self._find) == parcel.id:
                self._keys.confirm(key, parcel.id)
            self._keys.close(key, parcel.id, parcel.state)


def _fitting(parcel: Parcel) -> Parcel:
    if not is_id(parcel.id):
        raise BadInput(f"task {parcel.id!r} has an id of another form than those of dibs; push its payload")
    if parcel.state is State.CLAIMED:
        raise BadInput(f"task {parcel.id} is claimed where it is; it can follow when its lease has ended")
    return parcel if parcel.state is State.COMPLETED else replace(parcel, holder="")
