"""A holder's side of a queue behind a daemon: leases of what was claimed, the steps that end them, keeping them alive.

The daemon says for how much longer a lease holds, counted from when it got the request; here that counts from before
the request was sent, on this host's boottime clock. So a holder always stops first.
"""

import threading
from collections.abc import Iterable
from contextlib import suppress
from math import inf
from typing import Any
from urllib.parse import quote

from dibs.errors import BadInput, LeaseLost, StorageError, TaskNotFound
from dibs.facets import Filter
from dibs.queues.held import Lease
from dibs.queues.queue import Queue
from dibs.queues.remote import wire
from dibs.queues.remote.connections import Connections
from dibs.queues.remote.gifts import Gifts
from dibs.queues.remote.inhand import InHand
from dibs.queues.remote.session import Session
from dibs.task import checked_number

_SLACK_SECONDS = 0.001  # a look at a lease is a hair shorter than the beat that it saw


class Held:
    """A lease's token."""

    __slots__ = ("kept",)

    def __init__(self) -> None:
        self.kept = False  # somebody else renews it: only follow


class Holding(Queue):
    _connections: Connections
    _session: Session | None  # None: leases belong to no process
    _asked: threading.local  # what this thread wanted last, and how often it had been roused before
    _gifts: Gifts
    _in_hand: InHand

    def _take(self, limit: int, ttl: float, wanted: Filter) -> list[Lease]:
        self._asked.last = (ttl, wanted)
        self._asked.roused = self._connections.roused
        gift = self._gift(ttl, wanted)
        if len(gift) >= limit:
            return gift
        sent = self.clock.boottime()
        body = {"limit": limit - len(gift), **self._claiming(ttl, wanted)}
        return gift + self._leases(self._connections.post("/claim", body), sent)

    def _wait(self, seconds: float) -> None:
        """The daemon waits in our place; what it then claims is taken by the next look of this thread."""
        last: tuple[float, Filter] | None = getattr(self._asked, "last", None)
        if last is None:
            self.clock.sleep(seconds)
            return
        if self._gifts.here:
            return
        ttl, wanted = last
        sent = self.clock.boottime()
        body = {"limit": 1, **self._claiming(ttl, wanted)}
        found = self._connections.poll("/claim", body, seconds, self._asked.roused)
        if found is not None:  # what it got was claimed at the end of the waiting, not before
            leases = self._leases(found, sent + found["waited"])
            if leases:
                self._give_back(self._gifts.put(last, leases))

    def stop_waiting(self) -> None:
        self._give_back(self._gifts.take()[1])

    def _gift(self, ttl: float, wanted: Filter) -> list[Lease]:
        kind, leases = self._gifts.take()
        if kind == (ttl, wanted):
            return [lease for lease in leases if lease.held]
        for lease in leases:
            with suppress(LeaseLost, StorageError):
                lease.release()
        return []

    def _give_back(self, leases: list[Lease]) -> None:
        """Unstarted, by somebody who is about to leave."""
        for lease in leases:
            self._connections.soon(f"{at(lease.id)}/release", {"epoch": lease.epoch})
            lease.state = "released"
            self._in_hand.drop(lease)

    def _joined(self) -> None:
        """The session was made again, perhaps with another daemon: what is held is renewed through it."""
        for lease in self._in_hand.held(self.clock.boottime()):
            self._connections.soon(f"{at(lease.id)}/renew", {"epoch": lease.epoch, **self._named()})

    def _claiming(self, ttl: float, wanted: Filter) -> dict[str, Any]:
        body: dict[str, Any] = {"ttl": ttl}
        if self._session is not None:
            body["session"] = self._session.name()
        if wanted:
            body |= {"project": wanted.project, "labels": sorted(wanted.labels), "max_priority": wanted.max_priority}
        return body

    def _leases(self, answer: Any, sent: float) -> list[Lease]:
        leases = [self._lease(record, sent) for record in answer["leases"]]
        now = self.clock.boottime()
        for lease in [lease for lease in leases if now >= lease.deadline]:
            leases.remove(lease)  # we slept, or the answer was long on its way: others may already take it over
            with suppress(LeaseLost, StorageError):
                lease.release()
        self._in_hand.add(leases, now)
        return leases

    def _lease(self, record: Any, sent: float) -> Lease:
        ttl = float(record["ttl"])
        return Lease(
            self,
            wire.parts_of(record["task"]),
            epoch=record["epoch"],
            worker=record["worker"],
            ttl=ttl,
            deadline=sent + min(ttl, record["left"]),
            since=sent,
            token=Held(),
        )

    # Steps

    def lease(self, task_id: str, epoch: int) -> Lease:
        sent = self.clock.boottime()
        return self._lease(self._connections.get(f"{at(task_id)}/lease", epoch=epoch), sent)

    def renew(self, lease: Lease) -> None:
        if lease.token.kept:
            until = self.kept_until(lease)
            if self.clock.boottime() >= until:
                raise self._gone(lease)
            lease.deadline = until
            return
        sent = self.clock.boottime()
        answer = self._step(lease, "renew", self._named())
        lease.deadline, lease.worker = sent + min(lease.ttl, answer["left"]), answer["worker"]

    def complete(self, lease: Lease, result: Any = None) -> None:
        self._step(lease, "complete", {"result": result})

    def release(self, lease: Lease, delay: float = 0.0) -> None:
        self._step(lease, "release", {"delay": checked_number("delay", delay, 0)})

    def fail(self, lease: Lease, error: str, *, retry: bool = True) -> None:
        self._step(lease, "fail", {"error": error, "retry": retry})

    def complete_many(self, leases: Iterable[Lease]) -> list[Lease]:
        given = list(leases)
        held = [lease for lease in given if lease.state == "held"]
        gone = [lease for lease in given if lease.state != "held"]
        for lease in held:
            self._in_hand.drop(lease)
        ends = [{"id": lease.id, "epoch": lease.epoch, "result": lease.result} for lease in held]
        lost = {(one["id"], one["epoch"]) for one in self._connections.post("/complete", {"leases": ends})["lost"]}
        for lease in held:
            lease.state = "lost" if (lease.id, lease.epoch) in lost else "completed"
            if lease.state == "lost":
                gone.append(lease)
        return gone

    def _chain(self, lease: Lease, result: Any, ttl: float, wanted: Filter) -> Lease | None:
        sent = self.clock.boottime()
        following = self._step(lease, "complete", {"result": result, "claim": self._claiming(ttl, wanted)})["lease"]
        leases = self._leases({"leases": [following]}, sent) if following is not None else []
        return leases[0] if leases else None

    def _step(self, lease: Lease, step: str, body: dict[str, Any]) -> Any:
        if step != "renew":
            self._in_hand.drop(lease)
        try:
            return self._connections.post(f"{at(lease.id)}/{step}", {"epoch": lease.epoch, **body})
        except LeaseLost:
            lease.state = "lost"
            raise

    def _named(self) -> dict[str, Any]:
        return {} if self._session is None else {"session": self._session.name()}

    def _gone(self, lease: Lease) -> LeaseLost:
        lease.state = "lost"
        return LeaseLost(f"lease lost: task {lease.id} (epoch {lease.epoch}) was not kept in time; claim again")

    # Keep

    def handle(self, lease: Lease) -> str:
        lease.token.kept = True
        return f"{lease.epoch}:{lease.id}"

    def vouched(self, lease: Lease) -> float | None:
        return None if self.guard_pid is None else lease.deadline  # no record names a process

    def beat(self, handle: str) -> float | None:
        epoch, _, task_id = handle.partition(":")
        sent = self.clock.boottime()
        try:
            answer = self._connections.post(f"{at(task_id)}/renew", {"epoch": int(epoch), **self._named()})
        except (LeaseLost, TaskNotFound):
            return None
        until: float = sent + answer["left"]
        return until

    def end(self, handle: str) -> None:
        epoch, _, task_id = handle.partition(":")
        self._connections.post(f"{at(task_id)}/end", {"epoch": int(epoch)})

    def kept_until(self, lease: Lease) -> float:
        sent = self.clock.boottime()
        try:
            answer = self._connections.get(f"{at(lease.id)}/lease", epoch=lease.epoch)
        except (LeaseLost, TaskNotFound):
            return lease.deadline if lease.token.kept else -inf
        until: float = sent + answer["left"] - _SLACK_SECONDS
        return until


def at(ref: str) -> str:
    """The path of a task."""
    try:
        return f"/tasks/{quote(ref, safe='')}"
    except UnicodeEncodeError:
        raise BadInput(f"{ref!r} is not valid Unicode") from None
