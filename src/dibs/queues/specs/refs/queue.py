"""The queue of specs whose claims are refs of a git remote, shared by all clones.

    refs/dibs/cells/ID, refs/dibs/leases/ID/EPOCH    on the remote: who holds the spec, or how that ended

The files say what is pending and what depends on what; who holds a spec is for the remote to decide. A heartbeat is a
push. The file is written when the spec has ended, in the clone that did it, for its user to commit.
"""

import os
from contextlib import suppress
from typing import Any

from dibs.clock import Clock
from dibs.errors import StorageError
from dibs.git.refs import RefStore
from dibs.git.repository import Repository
from dibs.liveness import Holder
from dibs.queues.lockfiles.lockqueue import Upkeep as Upkeeping
from dibs.queues.specs.ledger import Ledger
from dibs.queues.specs.looks import Known
from dibs.queues.specs.queue import SpecsQueue, SpecSteps
from dibs.queues.specs.refs.ledger import RefLedger
from dibs.queues.specs.refs.steps import RefSteps, Upkeep
from dibs.queues.specs.refs.untold import Untold
from dibs.queues.specs.settings import Settings
from dibs.queues.specs.standing import user
from dibs.stores.files import FileStore
from dibs.stores.store import Exists, Store

CLONE = "clone"


class RefsQueue(SpecsQueue):
    first_pause = 0.5
    idle_seconds = 5.0
    upkeep_seconds = 5.0
    idle_upkeep_seconds = 1.0
    _refs: RefStore

    def _lease_store(self, settings: Settings, clock: Clock) -> Store:
        self._refs = RefStore(Repository.find(settings.folder, clock=clock), settings.remote or "")
        return self._refs

    def _make_steps(self, settings: Settings) -> tuple[Ledger, SpecSteps, Upkeeping]:
        self._clone = clone = _clone_of(self._store)
        ledger = RefLedger(self._refs, self._leases)
        untold = Untold(self._store, self.host)
        steps = RefSteps(self._leases, self._pages, self._met, self.clock, self.rng, settings.limits, clone, untold)
        return ledger, steps, Upkeep(ledger, self._leases, self._watch, steps)

    def _cell_key(self, task_id: str) -> str:
        return task_id

    def _is_own(self, known: Known, holder: Holder) -> bool:
        return known.lease is not None and known.lease.data.get("clone") == self._clone != ""

    def _describe(self, holder: Holder) -> dict[str, Any]:
        return {"hostname": holder.host, "user": user()}


def _clone_of(store: FileStore) -> str:
    """What names this clone, made when it is first asked for; empty where nothing can be written."""
    if not os.path.isdir(store.root):
        return ""
    try:
        entry = store.get(CLONE)
        if entry is None:
            with suppress(Exists):
                store.create(CLONE, os.urandom(8).hex().encode())
            entry = store.get(CLONE)
    except StorageError:
        return ""
    return entry.data.decode("ascii", "replace") if entry else ""
