"""The steps of a spec whose lease is a ref of the remote: each is one compare-and-set there.

The ref decides; the file follows, in the clone that did the work, when the spec has ended. Whoever dies in between
leaves a mark (`untold`), and the next process there writes the file (`Upkeep`).
"""

import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from dibs import states
from dibs.clock import Clock
from dibs.errors import BadInput, TaskNotFound
from dibs.lease import Held, Leases, Record, Seen
from dibs.liveness import Holder, Verdict, Watch
from dibs.queues.lockfiles.ending import claim_record, event, expired
from dibs.queues.lockfiles.limits import Limits
from dibs.queues.lockfiles.past import Past
from dibs.queues.specs.pages import Page, Pages
from dibs.queues.specs.refs.ledger import RefLedger, data_of, ended_record, kept
from dibs.queues.specs.refs.untold import Untold
from dibs.queues.specs.standing import ENDED, claimed, standing, written
from dibs.queues.specs.tasks import prioritised, task_of
from dibs.specs.badspec import BadSpec
from dibs.specs.statuses import Status
from dibs.states import TERMINAL, Cell, State
from dibs.stores.store import Changed, Exists
from dibs.task import Task
from dibs.values import replace

TRIES = 5


class RefSteps:
    def __init__(
        self,
        leases: Leases,
        pages: Pages,
        met: Callable[[str], bool],
        clock: Clock,
        rng: random.Random,
        limits: Limits,
        clone: str,
        untold: Untold,
    ) -> None:
        self._leases = leases
        self._pages = pages
        self._met = met
        self._clock = clock
        self._rng = rng
        self._limits = limits
        self._clone = clone
        self._untold = untold

    def claim(self, task_id: str, holder: Holder) -> tuple[Task, Held] | None:
        page = self._page(task_id)
        if page is None or page.spec.status is not Status.PENDING:
            return None
        found = self._found(task_id)
        past, lease = kept(found.record)[:2] if found else (Past(), None)
        cell = self.standing(page, past)
        if lease is not None or cell.state is not State.READY:
            return None
        task = task_of(page.spec, self._limits, page.data)
        record = claim_record(task_id, cell, replace(holder, beat=self._clock.boottime()), task.max_runtime)
        try:
            taken = self._set(task_id, found, replace(record, data=data_of(task_id, self._clone, past)))
        except (Exists, Changed):
            return None
        return task, self._leases.held(task_id, taken)

    def finish(
        self,
        task_id: str,
        seen: Seen,
        follow: Callable[[Cell], Cell],
        what: str,
        error: str = "",
        result: object = None,
    ) -> Cell:
        """Raises Changed when the lease is no longer as seen."""
        record = seen.record
        cell = follow(record.cell)
        happened = event(self._clock, record, what, error, result) if what else None
        data = data_of(task_id, self._clone, kept(record).past, happened, self._ended(cell))
        after = ended_record(record, cell, data)
        if cell.state in TERMINAL:
            self._untold.mark(task_id)
        self._leases.swap(task_id, seen.version, after)
        self.tell(task_id, after)
        return cell

    def expire(self, task_id: str, seen: Seen, verdict: Verdict) -> bool:
        """The holder is gone. False when somebody else was faster, or it lives after all."""
        record = seen.record
        page = self._page(task_id)
        limits = task_of(page.spec, self._limits) if page else self._limits
        cell, happened = expired(record, limits, verdict, self._leases.store.now(), self._clock, self._rng)
        data = data_of(task_id, str(record.data.get("clone", "")), kept(record).past, happened, self._ended(cell))
        try:
            self._leases.swap(task_id, seen.version, ended_record(record, cell, data))
        except Changed:
            return False
        return True

    def steward(self, task_id: str, holder: Holder, follow: Callable[[Cell], Cell]) -> Cell | None:
        """A step of a spec that nobody holds; None when somebody does, or has at this moment."""
        page = self._pages.read(task_id)
        if page is None:
            raise TaskNotFound(f"no spec {task_id!r} any more; `dibs specs list` shows what there is")
        found = self._found(task_id)
        past, lease = kept(found.record)[:2] if found else (Past(), None)
        if lease is not None:
            return None
        cell = follow(self.standing(page, past))
        after = Record(cell, holder, data=data_of(task_id, self._clone, past, ended=self._ended(cell)))
        self._untold.mark(task_id)
        try:
            self._set(task_id, found, after)
        except (Exists, Changed):
            return None
        self.tell(task_id, after)
        return cell

    def prioritise(self, task_id: str, holder: Holder, priority: int) -> Cell | None:
        """In the file of this clone, for its user to commit: the remote says who holds a spec, not what comes first."""
        page = self._pages.read(task_id)
        if page is None:
            raise TaskNotFound(f"no spec {task_id!r} any more; `dibs specs list` shows what there is")
        found = self._found(task_id)
        past, lease = kept(found.record)[:2] if found else (Past(), None)
        if lease is not None:
            return None
        cell = states.prioritise(self.standing(page, past))
        try:
            self._pages.change(page, prioritised(priority))
        except Changed:
            return None
        return cell

    def lost(self, page: Page, record: Record) -> bool:
        """A file that says to have ended is believed."""
        return page.spec.status in ENDED

    def standing(self, page: Page, past: Past) -> Cell:
        """Of a spec that nobody holds: what its file says to have ended has, then what its record says."""
        spec, cell = page.spec, past.cell
        now = self._leases.store.now()
        if spec.status in ENDED:
            return standing(spec, past, self._met, now)
        if cell.state in TERMINAL:
            return cell
        cell = standing(spec, past, self._met, now)._replace(attempts=max(spec.attempts, past.cell.attempts))
        if cell.state is State.READY and past.cell.state is State.SCHEDULED and past.cell.due > now:
            return cell._replace(state=State.SCHEDULED, due=past.cell.due)
        return cell

    def purge(self, state: State, before: float) -> int:
        """Forget what ended in this state before that time, of files that are gone."""
        removed = 0
        for task_id in self._leases.store.list(""):
            found = self._found(task_id)
            if found is None or found.record.cell.state is not state:
                continue
            with suppress(Changed, BadSpec):
                if kept(found.record).past.ended <= before and self._pages.read(task_id) is None:
                    self._leases.store.delete_if(task_id, found.version)
                    removed += 1
        return removed

    def tell(self, task_id: str, record: Record) -> bool:
        """Write into the file, in this clone, what has become of it. True when something was written."""
        wrote = False
        for _ in range(TRIES):
            page = self._page(task_id)
            changes = self._news(page, record) if page else {}
            if page is None or not changes:
                break
            with suppress(Changed):  # somebody saved the file at this moment
                try:
                    wrote = self._pages.change(page, changes) is not page
                except BadSpec:
                    pass  # `lint` and `why` say so; the record stands
                break
        self._untold.told(task_id)
        return wrote

    def tell_left(self) -> bool:
        """What a process of this clone had no time to tell. True when something was written."""
        wrote = False
        for task_id in self._untold.left():
            found = self._found(task_id)
            if found is None or found.record.cell.state is State.CLAIMED or not self._is_here(found.record):
                self._untold.told(task_id)  # it came to nothing, or somebody else ended it
            else:
                wrote |= self.tell(task_id, found.record)
        return wrote

    def _is_here(self, record: Record) -> bool:
        return record.data.get("clone") == self._clone

    def _news(self, page: Page, record: Record) -> dict[str, Any]:
        spec, cell = page.spec, record.cell
        if cell.state is State.READY and spec.status in ENDED:  # a retry
            return written(spec, cell, "", self._clock.wall())
        if cell.state not in TERMINAL or spec.status in ENDED:
            return {}
        history = kept(record).past.history
        error = history[-1].error if history and cell.state is State.FAILED else ""
        who = claimed(record.holder) if record.holder is not None and cell.state is State.COMPLETED else {}
        return {**who, **written(spec, cell, error, self._clock.wall())}

    def _set(self, task_id: str, found: Seen | None, record: Record) -> Seen:
        return (
            self._leases.create(task_id, record) if found is None else self._leases.swap(task_id, found.version, record)
        )

    def _found(self, task_id: str) -> Seen | None:
        try:
            return self._leases.read(task_id)
        except BadInput:
            return None

    def _page(self, task_id: str) -> Page | None:
        try:
            return self._pages.read(task_id)
        except BadSpec:
            return None

    def _ended(self, cell: Cell) -> float:
        return self._leases.store.now() if cell.state in TERMINAL else 0.0


class Upkeep:
    """Gives back what holders held that are gone, and writes what a process of this clone left unwritten."""

    def __init__(self, ledger: RefLedger, leases: Leases, watch: Watch, steps: RefSteps) -> None:
        self._ledger = ledger
        self._leases = leases
        self._watch = watch
        self._steps = steps

    def run(self) -> bool:
        found = self._ledger.all()
        holders = [one.record.holder for one in found.values() if one.record.holder is not None]
        self._watch.forget_others([*found, *(holder.session for holder in holders)])
        boots = {(holder.machine, holder.boot) for holder in holders}
        changed = self._steps.tell_left()
        for task_id, one in found.items():
            if one.record.cell.state is State.CLAIMED:
                verdict = self._leases.judge(task_id, one, boots)
                changed |= verdict is not Verdict.ALIVE and self._steps.expire(task_id, one, verdict)
        return changed
