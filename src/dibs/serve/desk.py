"""One served queue: its steps as the API asks for them, and who holds what through it. Everything here may block.

The queue is opened so that leases hang on no process: a daemon that dies voids nobody's. After a restart a lease is
found again by task and epoch; what is in memory here only makes that quicker.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from dibs.errors import BadInput, LeaseLost, TaskNotFound
from dibs.facets import Filter, make_filter
from dibs.queues.held import Lease
from dibs.queues.queue import DEFAULT_TTL, Queue, _checked_ttl
from dibs.queues.views import Claim, Detail, Why
from dibs.queues.why import explain
from dibs.serve.asked import checked
from dibs.serve.cache.looking import Looking
from dibs.serve.masking import NOTHING_HIDDEN
from dibs.serve.routes import CLAIM, ENDED, TASK
from dibs.serve.search.nowhere import Search, no_search
from dibs.serve.settling import was_done
from dibs.serve.ties import Ties
from dibs.states import State
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


class Desk:
    queue: Queue
    look: Looking  # answers who only looks
    identity: str

    def __init__(self, name: str, opening: Callable[[], Queue], identity: Callable[[], str] = lambda: "") -> None:
        """`identity`: which queue it is, for whoever can reach both it and the daemon."""
        self.name = name
        self.search: Search = no_search
        self.mask = NOTHING_HIDDEN  # what lists and searches do not show
        self._opening = opening
        self._identity = identity
        self._lock = threading.Lock()
        self._held: dict[tuple[str, int], Lease] = {}
        self.ties, self._swept = Ties(), 0.0

    def open(self) -> None:
        queue = self._opening()
        self.identity, self.look, self._swept = self._identity(), queue, queue.clock.boottime()
        self.queue = queue

    def __getattr__(self, name: str) -> Any:
        """Only for what is missing until it is open: who needs it opens it."""
        if name not in Desk.__annotations__:
            raise AttributeError(name)
        self.open()
        return getattr(self, name)

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
            self._sweep()
        if session is not None and leases:
            self.ties.tie([(lease.id, lease.epoch) for lease in leases], session)

    def give_back(self, leases: list[Lease]) -> None:
        """Nobody is left to have them."""
        for lease in leases:
            with suppress(LeaseLost):
                self.release(lease.id, lease.epoch, 0.0, repeat=False)

    def show(self, lease: Lease, since: float) -> dict[str, Any]:
        return {
            "id": lease.id,
            "epoch": lease.epoch,
            "worker": self.worker_of(lease),
            "ttl": lease.ttl,
            "left": min(lease.ttl, lease.deadline - since),
            "task": lease.task.to_json(),
        }

    def worker_of(self, lease: Lease) -> str:
        return self.ties.session((lease.id, lease.epoch)) or lease.worker

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
            self.ties.tie([(task_id, epoch)], session)
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
        except LeaseLost as lost:
            self._forget(lease.id, lease.epoch)
            raise self._told(lost, lease.id) from lost

    def _find(self, task_id: str, epoch: int) -> Lease:
        known = self._held.get((task_id, epoch))
        return known if known is not None else self._look_up(task_id, epoch)

    def _look_up(self, task_id: str, epoch: int) -> Lease:
        try:
            return self.queue.lease(task_id, epoch)
        except LeaseLost as lost:
            raise self._told(lost, task_id) from lost
        except TaskNotFound:
            raise LeaseLost(
                f"lease lost: task {task_id} is no longer in the queue; work done here at epoch {epoch} is not recorded"
            ) from None

    # Who holds what

    def _told(self, lost: LeaseLost, task_id: str) -> LeaseLost:
        """It may say who has the task now: a worker that claims through here is called by its own name."""
        text = str(lost)
        for name, lease in list(self._held.items()):
            if name[0] == task_id and (session := self.ties.session(name)):
                text = text.replace(lease.worker, session)
        return LeaseLost(text)

    def claimed(self) -> list[Claim]:
        """With the workers as holders, not the daemon."""
        return self.ties.named(self.look.claimed())

    def detail(self, ref: str) -> Detail:
        found = self.queue.detail(ref)
        return found if found.claim is None else replace(found, claim=self.ties.named([found.claim])[0])

    def why(self, ref: str, wanted: Filter) -> Why:
        filters = {"project": wanted.project, "labels": wanted.labels, "max_priority": wanted.max_priority}
        said = self.queue.why(ref, **filters)
        found = self.detail(said.id) if said.state == State.CLAIMED else None
        if found is None or found.claim is None or not found.claim.via:
            return said
        return explain(found, self.queue.store_time(), self.queue.clock.wall(), wanted)

    def _forget(self, task_id: str, epoch: int) -> None:
        with self._lock:
            self._held.pop((task_id, epoch), None)
        self.ties.untie([(task_id, epoch)])

    def _sweep(self) -> None:
        """Leases that nobody ended: long over."""
        now = self.now()
        if now - self._swept < _FORGET_SECONDS:
            return
        self._swept = now
        for name in [name for name, lease in self._held.items() if now > lease.deadline + _FORGET_SECONDS]:
            del self._held[name]
            self.ties.untie([name])

    def close(self) -> None:
        self.queue.close()


def _pushed(task: Task, altered: bool) -> dict[str, Any]:
    """A client knows what it sent; of a key that was taken it is told which task has it.

    `altered`: the queue made something of its own of it (a file).
    """
    short: dict[str, Any] = {"id": task.id, "state": str(task.state), "duplicate": task.duplicate}
    return {**short, "task": task.to_json()} if task.duplicate or altered else short
