"""A site: a file queue of its own, joined with a shared one, and a worker that does what is there."""

from pathlib import Path
from typing import Any

import dibs
from dibs.clock import Clock
from dibs.queues.held import Lease
from dibs.queues.queue import Queue
from dibs.states import State
from dibs.syncing import Report, Syncer
from dibs.testing import ManualClock
from disk.shifted import ShiftedFs


def opened(url: str, clock: Clock, **options: Any) -> Queue:
    """With all of its time from one clock."""
    if url.startswith("file:") and isinstance(clock, ManualClock):
        options["fs"] = ShiftedFs(clock)
    return dibs.open(url, clock=clock, **options)


class Site:
    def __init__(self, folder: Path, shared: str, clock: Clock, **settings: Any) -> None:
        self.queue = opened(f"file:{folder}?sync=off", clock)
        self._shared = shared
        self._clock = clock
        self._settings = {"hold": 600.0, **settings}

    def sync(self, *, give_back: bool = False, **changed: Any) -> Report:
        with self.syncer(**changed) as syncer:
            return syncer.run(give_back=give_back)

    def syncer(self, **changed: Any) -> Syncer:
        return Syncer(self.queue, self._shared, opener=opened, clock=self._clock, **{**self._settings, **changed})

    def work(self, most: int = 10_000) -> list[str]:
        """Completes what is ready; the ids."""
        leases = self.queue.claim_many(most)
        for lease in leases:
            lease.complete(f"by {self.queue.address}")
        return [lease.id for lease in leases]

    def take(self) -> Lease:
        lease = self.queue.claim()
        assert lease is not None
        return lease

    def ids(self, state: State) -> set[str]:
        return {task.id for task in self.queue.tasks(state)}
