"""A pass of `dibs sync`: first what is over, then what goes up, then what comes down. Each step may be the last.

Nothing is compared but ids and epochs: no file times, no sizes, no clocks of two hosts.
"""

import re
from collections.abc import Callable
from typing import Any

import dibs
from dibs.errors import BadInput, Unsupported
from dibs.host import this_host
from dibs.queues import split_url
from dibs.queues.queue import Queue
from dibs.syncing.journal import Journal, site_of
from dibs.syncing.report import Report
from dibs.syncing.reserving import Reserving
from dibs.syncing.sides import Sides
from dibs.syncing.telling import Telling
from dibs.values import replace

BATCH = 100
HOLD_SECONDS = 6 * 3600.0
SHORTEST_HOLD = 10.0


def sync(local: Queue, remote: str, **settings: Any) -> Report:
    """One pass; settings as of `Syncer`."""
    with Syncer(local, remote, **settings) as syncer:
        return syncer.run()


class Syncer:
    """Joins a file queue with the queue at a URL. One at a time for the two."""

    def __init__(
        self,
        local: Queue,
        remote: str,
        *,
        batch: int = BATCH,
        hold: float = HOLD_SECONDS,
        filters: dict[str, Any] | None = None,
        opener: Callable[..., Queue] = dibs.open,
        **options: Any,
    ) -> None:
        """At most `batch` tasks are reserved here at a time, for `hold` seconds after every renewal. `filters`: which,
        as for a claim. `options`: for `opener`, which opens the shared queue."""
        root = getattr(local.gate(), "root", None) if split_url(local.url)[0] == "file" else None
        if root is None:
            raise Unsupported(f"only a file: queue can be joined with a shared one; {local.address} is none")
        if hold < SHORTEST_HOLD:
            raise BadInput(f"hold {hold} is not acceptable; use a time from {SHORTEST_HOLD:.0f}s on")
        if batch < 0:
            raise BadInput(f"batch {batch} is not acceptable; use a whole number from 0")
        name = re.sub("[^a-z0-9]+", "-", this_host().name)[:17].strip("-")
        host = replace(this_host(), name=f"{name}-{site_of(root)}")
        self._remote = opener(remote, **{"host": host, "pid": None, **options})
        try:
            address = self._remote.gate().address
            if address == local.gate().address:
                raise BadInput(f"both are the same queue, {address}; name two")
            self._journal = Journal(root, address)
        except BaseException:
            self._remote.close()
            raise
        self._sides = Sides(local, self._remote, self._journal)
        self._batch = batch
        self._telling = Telling(self._sides)
        self._reserving = Reserving(self._sides, hold, filters or {})

    @property
    def conflicts_file(self) -> str:
        return f"{self._journal.folder}/conflicts.jsonl"

    @property
    def idle_seconds(self) -> float:
        """How long to wait, for the sake of the shared queue, when there was nothing to do."""
        return self._remote.idle_seconds

    def run(self, *, give_back: bool = False) -> Report:
        """One pass. It may be broken off anywhere, and the next goes on."""
        report = self._sides.fresh_report()
        self._reserving.recover()
        self._telling.finished()
        self._telling.born_here()
        self._telling.done_here()
        if give_back:
            self._reserving.give_back()
        else:
            self._reserving.renew()
            self._reserving.reserve(self._batch)
            self._telling.finished()  # what had to be reserved again may be finished here already
        report.reserved = len(self._journal.entries)
        return report

    def close(self) -> None:
        self._remote.close()
        self._journal.close()

    def __enter__(self) -> "Syncer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
