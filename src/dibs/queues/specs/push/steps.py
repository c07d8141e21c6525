"""The steps of a spec whose status on the remote's branch is the claim: those of the local lock, and more.

The lock of this machine keeps its processes apart and tells of their lives. A claim counts when its commit is on the
branch; it carries the epoch, and who does not find his own name there any more has lost it.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any
from zlib import crc32

from dibs import states
from dibs.errors import BadInput, Refused, TaskNotFound
from dibs.lease import Held, Record
from dibs.liveness import DRIFT, MARGIN_SECONDS, Holder, Verdict, Watch
from dibs.queues.lockfiles.lockqueue import Upkeep
from dibs.queues.lockfiles.past import Past
from dibs.queues.specs.ledger import lock_key
from dibs.queues.specs.pages import Page
from dibs.queues.specs.push.tip import TipPages
from dibs.queues.specs.standing import ENDED, claimed, ours
from dibs.queues.specs.steps import Steps
from dibs.specs.badspec import BadSpec
from dibs.specs.nodes import RUNNING
from dibs.states import Cell
from dibs.stores.files import Busy
from dibs.stores.store import Changed
from dibs.task import Task
from dibs.values import replace

SURE = 0.9  # of the stale time: until then nobody else can take it for void


def shown_alive(record: Record, now: float, stale: float) -> Record:
    """The lease of a claim that the branch has shown since `now`, and that others leave alone for the stale time."""
    limit: Any = record.data.get("limit")
    until = min(now + stale * SURE, limit) if isinstance(limit, float) else now + stale * SURE
    holder = record.holder
    if holder is not None:
        holder = replace(holder, beat=min(holder.beat, until - holder.ttl))
    return replace(record, holder=holder, until=until, data={**record.data, "shown": now})


class PushSteps(Steps):
    def __init__(self, *args: Any, stale: float) -> None:
        super().__init__(*args)
        self._stale = stale

    def _record(self, task: Task, cell: Cell, holder: Holder) -> Record:
        record = super()._record(task, cell, holder)
        return shown_alive(replace(record, data={**record.data, "limit": record.until}), holder.beat, self._stale)

    def claim(self, task_id: str, holder: Holder) -> tuple[Task, Held] | None:
        self._clear_lost(task_id)
        return super().claim(task_id, holder)

    def _clear_lost(self, task_id: str) -> None:
        """Remove a lock of this machine whose claim the branch does not show any more, though its holder may not know:
        somebody has taken it away."""
        with suppress(BadInput, Changed, Busy):
            found = self._leases.read(lock_key(task_id))
            if found is None or not found.record.cell.epoch or self.shows(task_id, found.record):
                return
            with self._store.locked(lock_key(task_id), found.version, patience=0.0) as lock:
                self._pages.refresh()
                if not self.shows(task_id, found.record):
                    self._settle(task_id, self._readable(task_id), found.record, self._pasts.read(task_id))
                    lock.delete()

    def shows(self, task_id: str, record: Record) -> bool:
        """Whether the branch, as of the last look, shows this claim."""
        page = self._readable(task_id)
        return page is not None and not self.lost(page, record)

    def _fields(self, holder: Holder, record: Record) -> dict[str, Any]:
        return {**claimed(holder), "epoch": record.cell.epoch}

    def lost(self, page: Page, record: Record) -> bool:
        spec = page.spec
        return spec.status in ENDED or not ours(spec, record.holder) or spec.epoch != record.cell.epoch

    def _give_back(self, task_id: str, record: Record, past: Past, verdict: Verdict) -> None:
        """`until` is also how long others leave it alone: only its longest runtime counts as an attempt."""
        limit: Any = record.data.get("limit")
        super()._give_back(task_id, replace(record, until=limit if isinstance(limit, float) else None), past, verdict)


class TeamUpkeep:
    """Besides what died on this machine: what others have in progress without a sign of life for too long.

    A sign of life is any change of the file on the branch. It is watched on our own clock, never compared with theirs.
    """

    def __init__(
        self, local: Upkeep, pages: TipPages, steps: PushSteps, watch: Watch, stale: float, me: Callable[[], Holder]
    ) -> None:
        self._local = local
        self._pages = pages
        self._steps = steps
        self._watch = watch
        self._stale = stale * DRIFT + MARGIN_SECONDS
        self._me = me

    def run(self) -> bool:
        changed = self._local.run()
        nodes = self._pages.listing().nodes
        running = [name for name, code in zip(nodes.ids, nodes.codes, strict=True) if code == RUNNING]
        for task_id in running:
            changed |= self._void(task_id)
        self._watch.forget_others(running)
        return changed

    def _void(self, task_id: str) -> bool:
        with suppress(BadSpec, Refused, TaskNotFound):
            page, holder = self._pages.read(task_id), self._me()
            mark = float(crc32(page.data)) if page else 0.0
            if page is None or self._watch.watched_for(task_id, mark, holder.beat) <= self._stale:
                return False
            return self._steps.steward(task_id, holder, states.release, only=page.data) is not None
        return False
