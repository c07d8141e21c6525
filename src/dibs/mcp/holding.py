"""What the client holds: every lease that was claimed for it, kept by the queue's heart until it is finished.

A step names task and epoch, and only what was claimed through this server can be stepped: a client cannot finish
what somebody else works on, nor with old work what it has claimed anew. At the end everything is given back;
should this process be killed before, the heart sees that and does it.
"""

import threading
from collections.abc import Callable
from typing import Any

from dibs.errors import DibsError, LeaseLost, Refused, TaskNotFound
from dibs.mcp.places import Opened
from dibs.queues.held import Lease
from dibs.queues.queue import Queue


class Holding:
    """Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._leases: dict[tuple[str, str], Lease] = {}  # by name of the queue and id of the task

    def claim(self, at: Opened, ttl: float, filters: dict[str, Any]) -> Lease | None:
        lease = at.queue.claim(ttl=ttl, **filters)
        if lease is None:
            return None
        try:
            at.queue.keep(lease)
        except DibsError:
            _let_go(lease)
            raise
        with self._lock:
            self._leases[at.name, lease.id] = lease
        return lease

    def held(self, at: Opened) -> list[Lease]:
        with self._lock:
            return [lease for (name, _), lease in self._leases.items() if name == at.name]

    def renew(self, at: Opened, task_id: str, epoch: int) -> Lease:
        lease = self._find(at, task_id, epoch)
        try:
            lease.renew()
        except LeaseLost as error:
            self._forget(at, lease)
            raise _lost(at, task_id, epoch, error) from None
        return lease

    def finish(self, at: Opened, task_id: str, epoch: int, step: Callable[[Lease], None]) -> None:
        """Take the last step with a lease. One that the storage refused can be tried again."""
        lease = self._find(at, task_id, epoch)
        try:
            step(lease)
        except LeaseLost as error:
            self._forget(at, lease)
            raise _lost(at, task_id, epoch, error) from None
        self._forget(at, lease)

    def give_back(self, at: Opened, lease: Lease) -> None:
        """The client never heard of this lease."""
        _let_go(lease)
        self._forget(at, lease)

    def release_all(self, complain: Callable[[str], None]) -> set[Queue]:
        """Give everything back. Returns the queues where that could not be done: their hearts still can."""
        stuck: set[Queue] = set()
        with self._lock:
            leases, self._leases = list(self._leases.values()), {}
        for lease in leases:
            try:
                _let_go(lease)
                lease.queue.unkeep(lease)
            except DibsError as error:
                complain(f"cannot give back task {lease.id} in good order: {error}")
                stuck.add(lease.queue)
        return stuck

    def _find(self, at: Opened, task_id: str, epoch: int) -> Lease:
        lease = next((lease for lease in self.held(at) if task_id in (lease.id, lease.key)), None)
        if lease is None:
            now = _standing(at, task_id)
            raise Refused(
                f"task {task_id} is not claimed by this session; {now}{'; ' if now else ''}claim_task takes one, "
                f"and queue_stats shows what is held here"
            )
        if lease.epoch != epoch:
            raise LeaseLost(
                f"task {task_id} is held by this session at epoch {lease.epoch}, not {epoch}: "
                f"work done at another epoch is not recorded"
            )
        return lease

    def _forget(self, at: Opened, lease: Lease) -> None:
        at.queue.unkeep(lease)
        with self._lock:
            if self._leases.get((at.name, lease.id)) is lease:
                del self._leases[at.name, lease.id]


def _let_go(lease: Lease) -> None:
    try:
        lease.release()
    except LeaseLost:
        pass  # it is somebody else's, or over: there is nothing to give back


def _lost(at: Opened, task_id: str, epoch: int, error: LeaseLost) -> LeaseLost:
    now = _standing(at, task_id, epoch)
    if not now:
        return error
    return LeaseLost(
        f"lease lost: task {task_id}: {now}; work done at epoch {epoch} is not recorded. Stop, or claim again"
    )


def _standing(at: Opened, task_id: str, epoch: int = 0) -> str:
    """Who has the task now; nothing where the queue cannot tell."""
    try:
        detail = at.queue.detail(task_id)
    except TaskNotFound:
        return "it is no longer in the queue"
    except DibsError:
        return ""
    claim = detail.claim
    if claim is None:
        return f"it is now {detail.task.state} (epoch {detail.task.epoch})"
    if claim.epoch == epoch:
        return "its time ran out before it was renewed"
    return f"it is now held by {claim.worker} on {claim.host} (epoch {claim.epoch})"
