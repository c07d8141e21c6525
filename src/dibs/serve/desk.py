"""One served queue: its steps as the API asks for them, and who holds what through it. Everything here may block.

The queue is opened so that leases hang on no process: a daemon that dies voids nobody's. After a restart a lease is
found again by task and epoch; what is in memory here only makes that quicker.
"""

import re
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, NamedTuple

from dibs.errors import BadInput, LeaseLost, TaskNotFound, Unsupported
from dibs.facets import Filter, make_filter
from dibs.queues.held import Lease
from dibs.queues.queue import DEFAULT_TTL, Queue, _checked_ttl
from dibs.queues.views import Claim
from dibs.serve.asked import checked
from dibs.serve.cache.looking import Looking
from dibs.serve.routes import CLAIM, ENDED, TASK
from dibs.serve.search.asking import Asked
from dibs.serve.settling import was_done
from dibs.task import NewTask, Task, is_id, make_task
from dibs.values import replace

MOST_PUSHED = 5000
MOST_CLAIMED = 5000
_FORGET_SECONDS = 3600.0


class Wanted(NamedTuple):
    """What a claim asks for."""

    ttl: float
    filter: Filter
    session: str | None


Search = Callable[[Asked], Awaitable[dict[str, Any]]]


async def _no_search(asked: Asked) -> dict[str, Any]:
    raise Unsupported("this daemon does not search; ask a queue that it serves with `dibs search` where that is")


class Desk:
    def __init__(self, name: str, opening: Callable[[], Queue]) -> None:
        self.name = name
        self.queue = opening()
        self.look: Looking = self.queue  # answers who only looks
        self.search: Search = _no_search
        self._opening = opening
        self._lock = threading.Lock()
        self._held: dict[tuple[str, int], Lease] = {}
        self._by_session: dict[str, set[tuple[str, int]]] = {}
        self._session_of: dict[tuple[str, int], str] = {}
        self._swept = self.now()

    def now(self) -> float:
        return self.queue.clock.boottime()

    # Push

    def push(self, items: list[dict[str, Any]], *, first: bool = False) -> list[dict[str, Any]]:
        """`first`: the client has never sent these ids before, so none need be looked for."""
        if len(items) > MOST_PUSHED:
            raise BadInput(f"{len(items)} tasks are too many for one request; push at most {MOST_PUSHED} at a time")
        now = self.queue.store_time()
        tasks = [self._new(item, now) for item in items]
        ids = {task.id for task in tasks}
        if len(ids) < len(tasks):
            raise BadInput("two tasks of one push have the same id; give each its own, or none")
        given = [] if first else [task for task, item in zip(tasks, items, strict=True) if item.get("id") is not None]
        there = {task.id: found for task in given if (found := self._known(task))}
        fresh = [task for task in tasks if task.id not in there]
        pushed = dict(zip((task.id for task in fresh), self.queue._insert(fresh) if fresh else (), strict=True))
        altered = not self.queue.capabilities.owned
        return [_pushed(there.get(task.id) or pushed[task.id], altered) for task in tasks]

    def _new(self, item: dict[str, Any], now: float) -> Task:
        given = checked(TASK, item, "a task")
        task_id, pushed_at = given.pop("id", None), given.pop("pushed_at", None)
        if "not_before" in given:
            given["at"] = given.pop("not_before")
        task = make_task(NewTask(**given), self.queue.clock, now)
        if task_id is None:
            return task
        if not is_id(task_id):
            raise BadInput(f"id {task_id[:40]!r} is not acceptable; use 32 hex digits, or leave it out")
        stamped = pushed_at if pushed_at is not None and 0 <= pushed_at < 1e11 else task.pushed_at
        return replace(task, id=task_id, pushed_at=stamped)

    def _known(self, task: Task) -> Task | None:
        """The task itself, when it was pushed before and only the answer was lost."""
        try:
            return self.queue.get(task.id)
        except TaskNotFound:
            return None

    # Claim

    def wanted(self, given: dict[str, Any]) -> Wanted:
        claim = checked(CLAIM, given, "claim")
        ttl = _checked_ttl(claim.get("ttl", DEFAULT_TTL))
        chosen = make_filter(claim.get("project"), claim.get("labels", ()), claim.get("max_priority"))
        return Wanted(ttl, chosen, claim.get("session"))

    def take(self, limit: int, wanted: Wanted) -> tuple[float, list[Lease]]:
        """(when it looked, what it got)."""
        looked = self.now()
        leases = self.queue._take(limit, wanted.ttl, wanted.filter)
        self.note(leases, wanted.session)
        return looked, leases

    def note(self, leases: list[Lease], session: str | None) -> None:
        with self._lock:
            for lease in leases:
                self._held[lease.id, lease.epoch] = lease
                self._hang((lease.id, lease.epoch), session)
            self._sweep()

    def give_back(self, leases: list[Lease]) -> None:
        """Nobody is left to have them."""
        for lease in leases:
            try:
                self.release(lease.id, lease.epoch, 0.0, repeat=False)
            except LeaseLost:
                pass

    def show(self, lease: Lease, since: float) -> dict[str, Any]:
        return {
            "id": lease.id,
            "epoch": lease.epoch,
            "worker": lease.worker,
            "ttl": lease.ttl,
            "left": min(lease.ttl, lease.deadline - since),
            "task": lease.task.to_json(),
        }

    # Steps

    def lease(self, task_id: str, epoch: int) -> Lease:
        found = self._look_up(task_id, epoch)
        known = self._held.get((task_id, epoch))
        if known is not None and known.state == "held":
            found.deadline = max(found.deadline, known.deadline)
        return found

    def renew(self, task_id: str, epoch: int, session: str | None) -> Lease:
        lease = self._find(task_id, epoch)
        self._step(lease, lambda: self.queue.renew(lease))
        with self._lock:
            self._held[task_id, epoch] = lease
            if session is not None:
                self._hang((task_id, epoch), session)
        return lease

    def complete(self, task_id: str, epoch: int, result: Any, *, repeat: bool) -> None:
        self._end("complete", task_id, epoch, lambda lease: self.queue.complete(lease, result), repeat)

    def fail(self, task_id: str, epoch: int, error: str, retry: bool, *, repeat: bool) -> None:
        self._end("fail", task_id, epoch, lambda lease: self.queue.fail(lease, error, retry=retry), repeat)

    def release(self, task_id: str, epoch: int, delay: float, *, repeat: bool) -> None:
        self._end("release", task_id, epoch, lambda lease: self.queue.release(lease, delay), repeat)

    def complete_many(self, items: list[dict[str, Any]], *, repeat: bool) -> list[dict[str, Any]]:
        lost = []
        for given in [checked(ENDED, item, "a lease") for item in items]:
            try:
                self.complete(given["id"], given["epoch"], given.get("result"), repeat=repeat)
            except LeaseLost:
                lost.append({"id": given["id"], "epoch": given["epoch"]})
        return lost

    def complete_and_claim(
        self, task_id: str, epoch: int, result: Any, wanted: Wanted, *, repeat: bool
    ) -> tuple[float, Lease | None]:
        looked = self.now()
        following: list[Lease] = []

        def chain(lease: Lease) -> None:
            found = self.queue._chain(lease, result, wanted.ttl, wanted.filter)
            following.extend([] if found is None else [found])

        self._end("complete", task_id, epoch, chain, repeat)
        self.note(following, wanted.session)
        return looked, following[0] if following else None

    def end(self, *names: tuple[str, int]) -> None:
        """The holders of these tasks and epochs are dead: each counts as a death.

        By a queue opened for it: a handle may name all leases of one queue object, and here none of them lives.
        """
        with self._opening() as ender:
            handles = set()
            for task_id, epoch in names:
                with suppress(LeaseLost, TaskNotFound):  # it is over already: what was wanted
                    handles.add(ender.handle(ender.lease(task_id, epoch)))
            for handle in handles:
                ender.end(handle)
        for task_id, epoch in names:
            self._forget(task_id, epoch)

    def _end(self, step: str, task_id: str, epoch: int, act: Callable[[Lease], None], repeat: bool) -> None:
        try:
            lease = self._find(task_id, epoch)
            self._step(lease, lambda: act(lease))
        except LeaseLost:
            if not (repeat and was_done(self.queue, step, task_id, epoch)):
                raise
        self._forget(task_id, epoch)

    def _step(self, lease: Lease, act: Callable[[], None]) -> None:
        try:
            act()
        except LeaseLost:
            self._forget(lease.id, lease.epoch)
            raise

    def _find(self, task_id: str, epoch: int) -> Lease:
        known = self._held.get((task_id, epoch))
        return known if known is not None else self._look_up(task_id, epoch)

    def _look_up(self, task_id: str, epoch: int) -> Lease:
        try:
            return self.queue.lease(task_id, epoch)
        except TaskNotFound:
            raise LeaseLost(
                f"lease lost: task {task_id} is no longer in the queue; work done here at epoch {epoch} is not recorded"
            ) from None

    # Who holds what

    def held_by(self, session: str) -> list[tuple[str, int]]:
        with self._lock:
            return list(self._by_session.get(session, ()))

    def named(self, claims: list[Claim]) -> list[Claim]:
        """As people want to see them: what was claimed through here hangs on a worker's session, not on the daemon."""
        with self._lock:
            sessions = [self._session_of.get((claim.id, claim.epoch)) for claim in claims]
        return [
            claim if session is None else replace(claim, worker=session, **_whereabouts(session))
            for claim, session in zip(claims, sessions, strict=True)
        ]

    def leave(self, session: str) -> None:
        """What it holds hangs on no session any more."""
        with self._lock:
            for name in self._by_session.pop(session, ()):
                self._session_of.pop(name, None)

    def _hang(self, name: tuple[str, int], session: str | None) -> None:
        before = self._session_of.pop(name, None)
        if before is not None:
            self._by_session[before].discard(name)
        if session is not None:
            self._session_of[name] = session
            self._by_session.setdefault(session, set()).add(name)

    def _forget(self, task_id: str, epoch: int) -> None:
        with self._lock:
            self._held.pop((task_id, epoch), None)
            self._hang((task_id, epoch), None)

    def _sweep(self) -> None:
        """Leases that nobody ended: long over."""
        now = self.now()
        if now - self._swept < _FORGET_SECONDS:
            return
        self._swept = now
        for name in [name for name, lease in self._held.items() if now > lease.deadline + _FORGET_SECONDS]:
            del self._held[name]
            self._hang(name, None)
        self._by_session = {session: names for session, names in self._by_session.items() if names}

    def close(self) -> None:
        self.queue.close()


def _whereabouts(session: str) -> dict[str, Any]:
    """Workers of dibs call their session by host, pid and a number drawn for it."""
    found = re.fullmatch(r"(.+)-(\d{1,9})-[0-9a-f]{8}", session)
    return {"host": found[1], "pid": int(found[2])} if found else {"host": "", "pid": None}


def _pushed(task: Task, altered: bool) -> dict[str, Any]:
    """A client knows what it sent; of a key that was taken it is told which task has it.

    `altered`: the queue made something of its own of it (a file).
    """
    short: dict[str, Any] = {"id": task.id, "state": str(task.state), "duplicate": task.duplicate}
    return {**short, "task": task.to_json()} if task.duplicate or altered else short
