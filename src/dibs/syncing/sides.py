"""The two queues of a sync, and what both directions need of them."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from dibs.errors import LeaseLost, Refused, TaskNotFound
from dibs.queues.held import Lease
from dibs.queues.parcel import Parcel
from dibs.queues.queue import Queue
from dibs.states import State
from dibs.syncing.journal import GONE, LEAVING, Entry, Journal
from dibs.syncing.report import Report

AT_ONCE = 16
From = TypeVar("From")
To = TypeVar("To")


class Sides:
    def __init__(self, local: Queue, remote: Queue, journal: Journal) -> None:
        self.local = local
        self.remote = remote
        self.journal = journal
        self.gate = local.gate()
        self.far_gate = remote.gate()
        self.leases: dict[str, Lease] = {}  # as far as this process has them in hand
        #: Not the shared queue's own address: what is marked with that would be let into it again.
        self.back = f"{self.far_gate.address} (returned)"
        self.report = self.fresh_report()

    def fresh_report(self) -> Report:
        self.report = Report(local=self.gate.address, remote=self.far_gate.address)
        return self.report

    def lease(self, entry: Entry) -> Lease:
        """The reservation. LeaseLost or TaskNotFound when it is no longer ours."""
        lease = self.leases.get(entry.id)
        if lease is None or lease.epoch != entry.epoch or lease.state != "held":
            lease = self.leases[entry.id] = self.remote.lease(entry.id, entry.epoch)
        return lease

    def each(self, act: Callable[[From], To], items: Iterable[From]) -> list[To]:
        """Several at once: each is a journey to the shared queue and back."""
        work = list(items)
        if len(work) < 2:
            return [act(item) for item in work]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return list(pool.map(act, work))

    def withdraw(self, entry: Entry) -> Parcel | None:
        """Take a reserved task out of the local queue, and give its lease back if it is still ours. Whoever works on it
        here is fenced off. Returns what it is now when it was finished meanwhile: then it has to be told."""
        self.journal.note([entry._replace(state=LEAVING)])
        parcel = self.gate.find(entry.id)
        if parcel is not None and parcel.state is State.COMPLETED:
            return parcel
        if parcel is not None and parcel.state is State.CLAIMED:
            with suppress(Refused, TaskNotFound):  # it has just moved on
                self.local.cancel(entry.id)
            parcel = self.gate.find(entry.id)
        if parcel is not None:
            gone = self.gate.depart([parcel], self.back)
            if not gone:
                return self.withdraw(entry)
            with suppress(LeaseLost, TaskNotFound):
                self.lease(entry).release()
            self.gate.dismiss(gone)
        self.forget([entry])
        return None

    def forget(self, entries: Iterable[Entry], state: str = GONE) -> None:
        over = list(entries)
        self.journal.note(entry._replace(state=state) for entry in over)
        for entry in over:
            self.leases.pop(entry.id, None)
