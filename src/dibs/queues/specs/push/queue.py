"""The queue of specs whose claims are commits on a branch of a git remote.

The files of that branch are the queue, whatever the working tree holds: claiming sets status, started_by, started_at
and epoch, commits that one file and pushes. Of two who claim one spec the second finds its push rejected and the file
changed, and takes another. Other machines see no heartbeats, so a claim that shows no sign of life for the `stale` time
is void; a holder that works longer shows one by a commit, in time.
"""

import random
from collections.abc import Callable

from dibs.clock import iso
from dibs.errors import StorageError
from dibs.git.branch import Branch
from dibs.git.repository import Repository
from dibs.lease import Held, Record
from dibs.liveness import Watch
from dibs.queues.held import Lease
from dibs.queues.lockfiles.lockqueue import Upkeep
from dibs.queues.lockfiles.past import Pasts
from dibs.queues.remembering import Remembering
from dibs.queues.specs.ledger import KEPT, Ledger, LockLedger
from dibs.queues.specs.locks import LockRecovery
from dibs.queues.specs.pages import Pages
from dibs.queues.specs.push.steps import PushSteps, TeamUpkeep, shown_alive
from dibs.queues.specs.push.tip import TipPages
from dibs.queues.specs.queue import SpecsQueue, SpecSteps
from dibs.queues.specs.settings import Settings
from dibs.queues.specs.standing import ours
from dibs.specs.badspec import BadSpec
from dibs.specs.listing import Listing
from dibs.states import State
from dibs.stores.store import Changed


class PushQueue(SpecsQueue):
    first_pause = 0.5
    idle_seconds = 5.0
    upkeep_seconds = 5.0
    idle_upkeep_seconds = 1.0
    _tip: TipPages
    _push_steps: PushSteps

    def _make_pages(self, settings: Settings) -> tuple[Pages, Callable[[], Listing]]:
        branch = Branch(
            Repository.find(settings.folder, clock=self.clock), settings.remote or "", settings.branch or ""
        )
        self._tip = TipPages(branch, settings.folder, self.clock, random.Random())
        return self._tip, self._tip.listing

    def _make_steps(self, settings: Settings) -> tuple[Ledger, SpecSteps, Upkeep]:
        store, leases = self._store, self._leases
        pasts = Pasts(store, leases, dict.fromkeys(State, KEPT))
        self._push_steps = steps = PushSteps(
            store, leases, pasts, self._tip, self._met, self.clock, self.rng, settings.limits, stale=settings.stale
        )
        locks = LockRecovery(store, leases, self._watch, steps, host=self.host, stale=settings.stale)
        others = Watch(self.host, self.clock)
        self._team_memory = Remembering(store, others, self.host, "team") if self._pid is None else None
        if self._team_memory is not None:
            self._team_memory.recall()
        upkeep = TeamUpkeep(locks, self._tip, steps, others, settings.stale, lambda: self._holder(60.0))
        return LockLedger(leases, pasts, locks.held), steps, upkeep

    def close(self) -> None:
        super().close()
        if self._team_memory is not None:
            self._team_memory.keep()

    def _settled(self, task_id: str, record: Record) -> bool:
        """Its commit is on the branch: else the push may still be under way, and would claim what was given back."""
        self._tip.refresh()
        return self._push_steps.shows(task_id, record)

    # A sign of life for others, long before they could take a claim for void

    def renew(self, lease: Lease) -> None:
        super().renew(lease)
        self._show_life(lease.id, lease.token)

    def beat(self, handle: str) -> float | None:
        until = super().beat(handle)
        held = self._beaten.get(handle)
        if until is not None and held is not None:
            self._show_life(handle.split(":", 2)[2], held)
        return until

    def _show_life(self, task_id: str, held: Held) -> None:
        shown = held.seen.record.data.get("shown")
        now = self.clock.boottime()
        holder = held.seen.record.holder
        if not isinstance(shown, float) or holder is None or now - shown < self.stale / 3:
            return
        try:
            self._tip.refresh()
            page = self._tip.read(task_id)
            if page is None or not ours(page.spec, holder):
                return  # lost: it may not be renewed past its time, and finishing it will be refused
            self._tip.change(page, {"heartbeat_at": iso(self.clock.wall())})
            held.step(lambda record: shown_alive(record, now, self.stale))
        except (StorageError, Changed, BadSpec):
            return  # the next beat tries again; if none succeeds the lease runs out before it is void
