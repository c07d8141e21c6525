"""What queues over `lease.py` share: who this process is as a holder, and keeping what is held.

A lease's token is its `Held`. Its handle names epoch, session and task, so that any process of this boot that has
opened the queue can beat for it.
"""

import os
import random
from abc import abstractmethod
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Any

from dibs.clock import SYSTEM, Clock
from dibs.errors import BadInput, LeaseLost, StorageError
from dibs.host import Host
from dibs.lease import Held, Leases, Lost, Record
from dibs.liveness import Holder, Verdict, Watch
from dibs.queues.held import Lease
from dibs.queues.lost import refused
from dibs.queues.queue import Queue
from dibs.queues.remembering import Remembering
from dibs.stores.store import Store
from dibs.task import Task
from dibs.values import replace


class Look:
    """One claimer's attempt: it is over when everything was looked at once since it began."""

    __slots__ = ("anew", "begun", "beyond", "over")

    def __init__(self) -> None:
        self.begun = False
        self.anew = False
        self.over = False
        self.beyond: Look | None = None  # at what lies behind the end of a list that was cut


class LeasedQueue(Queue):
    """A queue whose leases are records in a store."""

    def __init__(
        self,
        url: str,
        store: Store,
        *,
        memory: Store | None = None,
        pid: int | str | None = "self",
        process: Callable[[], int] = os.getpid,
        clock: Clock = SYSTEM,
        host: Host | None = None,
        rng: random.Random | None = None,
    ) -> None:
        """`memory`: where one-shot commands remember what they saw of others, if not with the leases."""
        super().__init__(url, clock=clock, host=host, rng=rng)
        self._pid = pid
        self._process = process
        self._watch = Watch(self.host, clock)
        self._leases = Leases(store, clock=clock, rng=self.rng, watch=self._watch, describe=self._describe)
        self._named = (0, "")
        self._started = self._guard_started = (0, "")
        self._serial = count(1)
        self._beaten: dict[str, Held] = {}
        self._remembering = Remembering(memory or store, self._watch, self.host) if pid is None else None
        if self._remembering is not None:
            self._remembering.recall()

    def close(self) -> None:
        super().close()
        if self._remembering is not None:
            self._remembering.keep()

    @abstractmethod
    def _cell_key(self, task_id: str) -> str:
        """Where the lease record of a task is kept."""

    @abstractmethod
    def _expire(self, task_id: str, held: Held, verdict: Verdict) -> None:
        """Give back what was seen to be held, unless it has changed since."""

    def _describe(self, holder: Holder) -> dict[str, Any]:
        """What a lease record says of its holder besides, for people and other tools."""
        return {}

    def _holder(self, ttl: float) -> Holder:
        """This process, or the one it claims for, as the holder of one new lease; the beat is now."""
        pid = self._process() if self._pid == "self" else self._pid
        return Holder(
            session=f"{self._worker()}.{next(self._serial)}",
            worker=self._worker(),
            host=self.host.name,
            machine=self.host.machine,
            boot=self.host.boot,
            space=self.host.space,
            pid=None if pid is None else int(pid),
            start="" if pid is None else self._start_of(int(pid)),
            guard=self.guard_pid,
            guard_start="" if self.guard_pid is None else self._guard_start(self.guard_pid),
            ttl=ttl,
            beat=self.clock.boottime(),
            since=round(self.clock.wall(), 3),
        )

    def _guard_start(self, pid: int) -> str:
        if self._guard_started[0] != pid:
            self._guard_started = (pid, self.host.started(pid))
        return self._guard_started[1]

    def _start_of(self, pid: int) -> str:
        if self._started[0] != pid:
            self._started = (pid, self.host.started(pid))
        return self._started[1]

    def _worker(self) -> str:
        """The name of this process as a worker; a forked child takes another."""
        process = self._process()
        if self._named[0] != process:
            tag = self.rng.getrandbits(32) if not self._named[0] else int.from_bytes(os.urandom(4))
            shown = process if self._pid == "self" else self._pid or "cli"
            self._named = (process, f"{self.host.name}-{shown}-{tag:08x}")
            self._beaten, self._heart = {}, None
        return self._named[1]

    def _lease_of(self, task: Task, held: Held) -> Lease:
        holder = held.seen.record.holder
        now = self.clock.boottime()
        known = holder is not None and holder.boot == self.host.boot
        return Lease(
            self,
            task,
            epoch=held.epoch,
            worker=holder.worker if holder else held.session,
            ttl=holder.ttl if holder else 0.0,
            deadline=held.deadline if known else now,
            since=now,
            token=held,
        )

    # Keep

    def renew(self, lease: Lease) -> None:
        held: Held = lease.token
        holder = held.seen.record.holder
        if holder is not None and holder.boot != self.host.boot:
            self._adopt(lease, held, holder)
        elif not (held.follow() if held.kept else held.renew()):
            with suppress(StorageError):  # lost all the same: who finds it gives it back
                if held.refresh():
                    self._expire(lease.id, held, Verdict.SILENT)  # its time is over though we live: give it back
            raise self._lost(lease)
        lease.deadline = held.deadline

    def _adopt(self, lease: Lease, held: Held, holder: Holder) -> None:
        """Renew from another boot than the holder's: its deadline means nothing here, so the swap alone decides.
        From then on it belongs to no process, only to its TTL."""
        mine = replace(self._holder(holder.ttl), session=holder.session, worker=holder.worker, pid=None, start="")
        try:
            held.step(lambda record: replace(record, holder=mine, until=None))
        except Lost:
            raise self._lost(lease) from None
        held.deadline = held.seen.record.deadline

    def _lost(self, lease: Lease) -> LeaseLost:
        """The error that says who has the task now."""
        lease.state = "lost"
        return self._lost_to(lease.id, lease.epoch, self._record_now(lease.id))

    def _record_now(self, task_id: str) -> Record | None:
        try:
            found = self._leases.read(self._cell_key(task_id))
        except BadInput:
            return None
        return found.record if found else None

    def _lost_to(self, task_id: str, epoch: int, now: Record | None) -> LeaseLost:
        if now is None:
            return refused(task_id, epoch)
        who = f"{now.holder.worker} on {now.holder.host}" if now.holder else now.cell.holder
        return refused(task_id, epoch, now.cell.state, now.cell.epoch, who)

    def handle(self, lease: Lease) -> str:
        held: Held = lease.token
        held.kept = True
        return f"{held.epoch}:{held.session}:{lease.id}"

    def vouched(self, lease: Lease) -> float | None:
        held: Held = lease.token
        holder = held.seen.record.holder
        return None if holder is None or holder.guard is None else held.deadline

    def beat(self, handle: str) -> float | None:
        held = self._beaten.get(handle)
        if held is None:
            held = self._held_by(handle)
            if held is None:
                return None
            self._beaten[handle] = held
        holder = held.seen.record.holder
        if holder is not None and holder.guard is None:
            pid = self._process()
            holder = replace(holder, guard=pid, guard_start=self.host.started(pid))
        if held.renew(holder):
            return held.deadline
        del self._beaten[handle]
        return None

    def end(self, handle: str) -> None:
        held = self._beaten.pop(handle, None) or self._held_by(handle)
        if held is not None and held.refresh():
            self._expire(handle.split(":", 2)[2], held, Verdict.DEAD)

    def _held_by(self, handle: str) -> Held | None:
        """What a handle names, if it is still held and from this boot."""
        epoch, _, rest = handle.partition(":")
        session, _, task_id = rest.partition(":")
        key = self._cell_key(task_id)
        try:
            found = self._leases.read(key)
        except BadInput:
            return None
        if found is None or not found.record.held_as(int(epoch), session):
            return None
        holder = found.record.holder
        if holder is None or holder.ended or holder.boot != self.host.boot:
            return None
        return self._leases.held(key, found)

    def kept_until(self, lease: Lease) -> float:
        held: Held = lease.token
        holder = held.seen.record.holder
        if held.unsure or holder is None or holder.boot != self.host.boot:
            return lease.deadline
        held.follow()
        return held.deadline
