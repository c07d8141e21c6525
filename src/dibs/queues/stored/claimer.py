"""From a marker to a claimed task: the steps by which one of many gets it.

A marker is a hint. An ordinary task's cell is read, and swapped from what was read. A seed has no cell yet: the claimer
creates one blindly, and reads the seed only when it is its own; who is refused learns who has it, and asks no more.

A claim whose answer was lost may stand in the store though nobody knows of it: see `doubts`.
"""

from collections.abc import Callable
from contextlib import suppress

from dibs import states
from dibs.errors import BadInput
from dibs.keys import Keys
from dibs.lease import Record
from dibs.liveness import Holder
from dibs.queues.doubts import Doubts
from dibs.queues.stored.body import Known
from dibs.queues.stored.cells import Cells
from dibs.queues.stored.layout import Marker
from dibs.queues.stored.steps import Steps
from dibs.queues.stored.upkeep import Upkeep
from dibs.states import Cell, State
from dibs.stores.store import Changed
from dibs.values import replace


class Claimer:
    def __init__(
        self, cells: Cells, keys: Keys, steps: Steps, upkeep: Upkeep, holder: Callable[[float], Holder]
    ) -> None:
        """`holder`: this process as the holder of one new lease, for a TTL."""
        self._cells = cells
        self._keys = keys
        self._steps = steps
        self._upkeep = upkeep
        self._holder = holder
        self.doubts: Doubts[tuple[str, str]] = Doubts()  # task, session
        self.freed: Callable[[], None] = lambda: None  # is told when something has become ready meanwhile

    def claim(self, marker: Marker, ttl: float) -> Known | None:
        """The task, now ours; None when it is not to be had."""
        if marker.seed:
            return self._claim_seed(marker, ttl)
        known = self._cells.settle(marker)
        if known is None or known.cell.state is not State.READY:
            return None
        task = known.body.task
        if task.key is not None and self._keys.leftover(task.key, task.id, self._cells.state_of):
            with suppress(Changed):
                self._steps.cancel(known)
            return None
        holder = self._holder(ttl)
        until = None if task.max_runtime is None else holder.beat + task.max_runtime
        if until is not None:
            holder = replace(holder, beat=min(holder.beat, until - ttl))
        record = Record(states.claim(known.cell, holder.session), holder, until)
        with suppress(Changed), self.doubts.about((task.id, holder.session)):
            return self._cells.move(known, record, known.body.moved())
        return None

    def give_back_doubted(self) -> None:
        """Raises StorageError while the store still does not answer."""
        self.doubts.settle(self._give_back)

    def _give_back(self, claim: tuple[str, str]) -> bool:
        task_id, session = claim
        try:
            known = self._cells.read(task_id)
        except BadInput:  # damaged: for a person to look at
            return True
        if known is not None and known.cell.state is State.CLAIMED and known.cell.holder == session:
            self._steps.release(known)
            self._upkeep.ended(known.marker)
            self.freed()
        return True

    def _claim_seed(self, marker: Marker, ttl: float) -> Known | None:
        if self._upkeep.watches(marker):
            self._ask_after(marker)
            return None
        holder = self._holder(ttl)
        try:
            with self.doubts.about((marker.id, holder.session)):
                taken = self._cells.touch(marker, Record(states.claim(Cell(State.READY), holder.session), holder))
        except Changed:
            self._upkeep.watch(marker, self._cells.settle(marker))
            self._ask_after(marker)
            return None
        except BadInput:  # damaged: for a person to look at
            self._upkeep.shun(marker)
            return None
        if taken is not None:
            self._upkeep.watch(marker, taken)
        return taken

    def _ask_after(self, marker: Marker) -> None:
        if self._upkeep.recover_seed(marker):
            self.freed()
