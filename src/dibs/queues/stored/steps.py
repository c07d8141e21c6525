"""Steps that nobody's lease is needed for: expire, release, promote, unblock, cancel, retry, prioritise, purge.

Each reads the task, and swaps its cell from exactly what was read. Any number of processes may do the same at once.
"""

import random
from collections.abc import Callable

from dibs import states
from dibs.clock import Clock
from dibs.errors import Refused
from dibs.facets import Facet, facet_of
from dibs.keys import Keys
from dibs.lease import Record
from dibs.liveness import Verdict
from dibs.queues.stored.body import Body, Known
from dibs.queues.stored.cells import Cells, event
from dibs.queues.stored.layout import FOLDERS, hour_of, parse_marker
from dibs.queues.stored.waits import Waits
from dibs.states import State
from dibs.stores.store import Changed


class Steps:
    def __init__(
        self,
        cells: Cells,
        keys: Keys,
        waits: Waits,
        clock: Clock,
        rng: random.Random,
        find: Callable[[str], State | None],
    ) -> None:
        self._cells = cells
        self._store = cells.store
        self._keys = keys
        self._waits = waits
        self._clock = clock
        self._rng = rng
        self._find = find

    def expire(self, known: Known, verdict: Verdict) -> bool:
        """The holder is gone. False when somebody else was faster, or it lives after all."""
        record, task = known.seen.record, known.body.task
        if record.overrun and verdict is Verdict.SILENT:
            wait = states.backoff(task.backoff, task.max_backoff, known.cell.attempts + 1, self._rng)
            cell = states.fail(known.cell, task.max_attempts, self._store.now() + wait if wait else 0.0)
            error = f"held longer than its max_runtime of {task.max_runtime:g} s"
            noted = event(known, "timed out", round(self._clock.wall(), 3), error)
        else:
            cell = states.expire(known.cell, task.max_deaths, counts=verdict is not Verdict.REBOOTED)
            holder = record.holder
            who = f"worker {holder.worker} on {holder.host}" if holder else "its worker"
            noted = event(known, str(verdict), round(self._clock.wall(), 3), f"{who} {verdict} while holding it")
        ended = self._store.now() if cell.state is State.FAILED else 0.0
        return self._moved(known, Record(cell), known.body.moved(noted, ended))

    def release(self, known: Known) -> bool:
        """Give back a lease that nobody knows to be theirs. False when it is no longer as known."""
        return self._moved(known, Record(states.release(known.cell)), known.body.moved())

    def promote(self, known: Known, due: float = 0.0) -> bool:
        return self._moved(known, Record(states.promote(known.cell, due)), known.body.moved())

    def unblock(self, task_id: str) -> bool:
        """Make a blocked task ready, or scheduled, if everything it waits for is completed."""
        known = self._cells.read(task_id)
        if known is None or known.cell.state is not State.BLOCKED or not self._waits.met(known.body.task):
            return False
        task = known.body.task
        late = task.not_before is not None and task.not_before > self._store.now()
        changed = self.promote(known, (task.not_before or 0.0) if late else 0.0)
        if changed:
            self._waits.unpoint(task)
        return changed

    def cancel(self, known: Known) -> Known:
        """Raises Refused when it has ended, Changed when it is no longer as known."""
        cell = states.cancel(known.cell)
        held = known.cell.state is State.CLAIMED
        noted = event(known, "cancelled", round(self._clock.wall(), 3)) if held else None
        cancelled = self._cells.move(known, Record(cell), known.body.moved(noted, self._store.now()))
        self._waits.unpoint(known.body.task)
        return cancelled

    def retry(self, known: Known) -> Known:
        """Raises Refused, or Changed when it is no longer as known."""
        cell, task = states.retry(known.cell), known.body.task
        if task.key is None:
            return self._cells.announce(known, Record(cell), known.body.moved())
        self._keys.reopen(task.key, task.id, self._find)
        retried = self._cells.announce(known, Record(cell), known.body.moved())
        other = self._keys.confirm(task.key, task.id)
        if other not in (None, task.id):
            self.withdraw(task.id)
            raise Refused(f"cannot retry task {task.id}: its key {task.key!r} is taken by live task {other}")
        return retried

    def prioritise(self, known: Known, priority: int, register: Callable[[Facet], None]) -> Known:
        """Raises Refused when it is held or over, Changed when it is no longer as known."""
        cell = states.prioritise(known.cell)
        if known.task.priority == priority:
            return known
        register(facet_of(known.task)._replace(priority=priority))
        return self._cells.move(known, Record(cell), known.body.prioritised(priority))

    def withdraw(self, task_id: str) -> None:
        """Cancel a task that lost its key; one that has ended meanwhile stays as it is."""
        while (known := self._cells.read(task_id)) is not None and known.cell.state in states.LIVE:
            try:
                self.cancel(known)
            except Changed:
                continue

    def purge(self, state: State, before: float, limit: int | None = None) -> int:
        """Delete tasks that ended in this state before that time (the store's)."""
        removed = 0
        folder = FOLDERS[state]
        last = f"{folder}/{hour_of(before)}0"  # sorts behind every name of that hour
        for key in self._store.list(f"{folder}/"):
            if key > last or removed == limit:
                break
            marker = parse_marker(key)
            known = self._cells.settle(marker) if marker else None
            if known is None or known.body.ended > before:
                continue
            task = known.body.task
            if task.key is not None:
                self._keys.forget(task.key, task.id, self._cells.state_of)
            self._waits.forget(task)
            removed += self._cells.remove(known)
        return removed

    def _moved(self, known: Known, record: Record, body: Body) -> bool:
        try:
            self._cells.move(known, record, body)
        except Changed:
            return False
        return True
