"""The Queue contract: one API and one set of guarantees, whatever the medium.

A backend supplies the abstract methods; what can be said once for all of them is said here. The
contract suite (`dibs.testing`) holds every backend to the guarantees in docs/guarantees.md.
Every method may raise StorageError when the medium refuses, and then has changed nothing,
or what it says it has.
"""

import os
import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

from dibs.clock import SYSTEM, Clock
from dibs.errors import BadInput, StorageError, Unsupported
from dibs.facets import EVERYTHING, Filter, make_filter
from dibs.host import Host, this_host
from dibs.queues.held import Lease
from dibs.queues.views import Capabilities, Claim, Detail, Stats, Why
from dibs.queues.why import explain
from dibs.states import TERMINAL, State
from dibs.task import NewTask, Task, checked_number, encode, make_task, priority_of

if TYPE_CHECKING:
    from dibs.queues.gate import Gate

DEFAULT_TTL = 60.0
MAX_TTL = 30 * 86400.0
BATCH = 2000
PLACE_SETTINGS = ("endpoint", "queue", "region")


class Queue(ABC):
    """Open one with `dibs.open(url)`. Safe to use from several threads."""

    capabilities = Capabilities()

    #: Set by a worker whose leases are all kept by a guard process: claims then hang on what the guard beats.
    guarded = False
    guard_pid: int | None = None

    def __init__(
        self,
        url: str,
        *,
        clock: Clock = SYSTEM,
        host: Host | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self.url = url
        self.clock = clock
        self.host = host or this_host()
        self.rng = rng or random.Random()
        self.opened_in = _working_folder()  # a relative path in `url` is relative to this
        self._heart: Any = None

    # Push

    def push(
        self,
        payload: Any = None,
        *,
        key: str | None = None,
        unique: str = "live",
        priority: int | str = 50,
        project: str | None = None,
        labels: Sequence[str] = (),
        delay: float = 0.0,
        at: float | None = None,
        after: Sequence[str] = (),
        max_attempts: int = 3,
        max_deaths: int = 5,
        max_runtime: float | None = None,
        backoff: float = 1.0,
        max_backoff: float = 3600.0,
    ) -> Task:
        """Add a task. When this returns, the task survives whatever happens to this process or machine.

        A `key` that a live task has already (or, with unique="completed", a completed one) adds
        nothing: that task is returned, with `duplicate` true.
        """
        new = NewTask(
            payload=payload, key=key, unique=unique, priority=priority, project=project, labels=labels,
            delay=delay, at=at, after=after, max_attempts=max_attempts, max_deaths=max_deaths,
            max_runtime=max_runtime, backoff=backoff, max_backoff=max_backoff,
        )  # fmt: skip
        return self.push_many([new])[0]

    def push_many(self, items: Iterable[Any]) -> list[Task]:
        """Add many tasks, made durable a batch at a time. An item is a payload, or a NewTask with more.

        If it fails half-way, what was added before stays: push again with keys to add only the rest.
        """
        pushed: list[Task] = []
        batch: list[Task] = []
        now = self.store_time()
        for item in items:
            new = item if isinstance(item, NewTask) else NewTask(payload=item)
            batch.append(make_task(new, self.clock, now))
            if len(batch) >= BATCH:
                pushed += self._insert(batch)
                batch = []
                now = self.store_time()
        if batch:
            pushed += self._insert(batch)
        return pushed

    @abstractmethod
    def _insert(self, tasks: list[Task]) -> list[Task]:
        """Add checked tasks durably; a task whose key is taken is replaced by the one that has it."""

    # Claim and finish

    def claim(
        self,
        *,
        ttl: float = DEFAULT_TTL,
        wait: float | None = 0.0,
        project: str | None = None,
        labels: Iterable[str] = (),
        max_priority: int | str | None = None,
    ) -> Lease | None:
        """Take the right to one ready task, or None when nothing is ready for `wait` seconds (None: for ever)."""
        plain = project is None and labels == () and max_priority is None
        wanted = EVERYTHING if plain else make_filter(project, labels, max_priority)
        taken = self._take(1, _checked_ttl(ttl), wanted)
        if taken:
            return taken[0]
        if wait == 0:
            return None
        return next(self.claims(ttl=ttl, wait=wait, project=project, labels=labels, max_priority=max_priority), None)

    def claim_many(
        self,
        limit: int,
        *,
        ttl: float = DEFAULT_TTL,
        project: str | None = None,
        labels: Iterable[str] = (),
        max_priority: int | str | None = None,
    ) -> list[Lease]:
        """Up to `limit` leases at once; fewer, or none, when fewer are ready."""
        return self._take(_checked_limit(limit), _checked_ttl(ttl), make_filter(project, labels, max_priority))

    def claims(
        self,
        *,
        ttl: float = DEFAULT_TTL,
        wait: float | None = 0.0,
        project: str | None = None,
        labels: Iterable[str] = (),
        max_priority: int | str | None = None,
    ) -> Iterator[Lease]:
        """Leases one after another, until the queue has had nothing for `wait` seconds (None: for ever)."""
        wanted = make_filter(project, labels, max_priority)
        ttl = _checked_ttl(ttl)
        idle_since: float | None = None
        pause = 0.0
        while True:
            taken = self._take(1, ttl, wanted)
            if taken:
                idle_since = None
                yield taken[0]
                continue
            now = self.clock.boottime()
            if idle_since is None:
                idle_since, pause = now, self.idle_seconds if self.wakes else self.first_pause
            left = None if wait is None else wait - (now - idle_since)
            if left is not None and left <= 0:
                return
            pause = min(pause * 1.5, self.idle_seconds)
            self._wait(min(pause * (0.75 + self.rng.random() / 2), pause if left is None else left))

    first_pause = 0.01
    idle_seconds = 1.0

    @property
    def wakes(self) -> bool:
        """Whether `_wait` is ended by whatever becomes ready: then there is no use in looking often."""
        return False

    def _wait(self, seconds: float) -> None:
        """Return when something may have become ready, or after `seconds`. Never spins."""
        self.clock.sleep(seconds)

    def rouse(self) -> None:
        """Threads that wait for work in this process look again at once, where the backend can wake them."""
        return

    def stop_waiting(self) -> None:
        """This thread looks no more after its `_wait`: what that has claimed for it, if anything, goes back."""
        return

    @abstractmethod
    def _take(self, limit: int, ttl: float, wanted: Filter) -> list[Lease]:
        """Claim up to `limit` ready tasks that are wanted, taking over what has expired; never blocks."""

    @abstractmethod
    def lease(self, task_id: str, epoch: int) -> Lease:
        """The lease that is held on a task, for somebody who knows its epoch. LeaseLost if it is another now."""

    @abstractmethod
    def renew(self, lease: Lease) -> None:
        """Extend by its TTL from now; LeaseLost if it is gone or too late."""

    @abstractmethod
    def complete(self, lease: Lease, result: Any = None) -> None: ...

    @abstractmethod
    def release(self, lease: Lease, delay: float = 0.0) -> None: ...

    @abstractmethod
    def fail(self, lease: Lease, error: str, *, retry: bool = True) -> None: ...

    def complete_many(self, leases: Iterable[Lease]) -> list[Lease]:
        """Complete each; returns those that were lost instead."""
        from dibs.errors import LeaseLost

        lost = []
        for lease in leases:
            try:
                lease.complete(lease.result)
            except LeaseLost:
                lost.append(lease)
        return lost

    def complete_and_claim(
        self,
        lease: Lease,
        result: Any = None,
        *,
        ttl: float = DEFAULT_TTL,
        project: str | None = None,
        labels: Iterable[str] = (),
        max_priority: int | str | None = None,
    ) -> Lease | None:
        """Complete a task and claim the next; where the backend can, in one step that costs what one of them does.

        LeaseLost when the completion is refused: then nothing is claimed. None when nothing is ready at a quick look.
        """
        wanted, ttl = make_filter(project, labels, max_priority), _checked_ttl(ttl)
        if lease.state != "held":
            lease._step("complete")
        following = self._chain(lease, result, ttl, wanted)
        lease.state = "completed"
        return following

    def _chain(self, lease: Lease, result: Any, ttl: float, wanted: Filter) -> Lease | None:
        self.complete(lease, result)
        try:
            taken = self._take(1, ttl, wanted)
        except StorageError:
            return None  # it is completed all the same; whoever claims next meets what is wrong
        return taken[0] if taken else None

    def complete_and_claim_many(
        self,
        leases: Iterable[Lease],
        limit: int,
        *,
        ttl: float = DEFAULT_TTL,
        project: str | None = None,
        labels: Iterable[str] = (),
        max_priority: int | str | None = None,
    ) -> list[Lease]:
        """Complete each, with its `result`, and claim up to `limit` others; where the backend can, in one step.

        The `state` of those that were lost says so, and does not keep others from being claimed.
        """
        wanted, ttl = make_filter(project, labels, max_priority), _checked_ttl(ttl)
        return self._chain_many(list(leases), _checked_limit(limit), ttl, wanted)

    def _chain_many(self, leases: list[Lease], limit: int, ttl: float, wanted: Filter) -> list[Lease]:
        self.complete_many(leases)
        try:
            return self._take(limit, ttl, wanted)
        except StorageError:
            return []  # as in `_chain`

    def stdin(self, lease: Lease) -> bytes:
        """What a command that works on the task reads."""
        return encode(lease.payload)

    # Keeping leases alive from another process (see worker/guard.py)

    @abstractmethod
    def handle(self, lease: Lease) -> str:
        """Names, for any process that opened this queue, what must be beaten to keep the lease.
        Leases may share one. After it was asked for, only `beat` renews them."""

    def vouched(self, lease: Lease) -> float | None:
        """Until when the lease holds as it was claimed, if its record names the guard already; None: beat at once."""
        return None

    @abstractmethod
    def beat(self, handle: str) -> float | None:
        """Renew what the handle names. Returns until when it holds (this boot's boottime), or None: lost."""

    @abstractmethod
    def end(self, handle: str) -> None:
        """The holder is dead and so are its children: what it held may go to others at once."""

    @abstractmethod
    def kept_until(self, lease: Lease) -> float:
        """Until when a lease that somebody beats for holds, by this boot's boottime clock."""

    def keep(self, lease: Lease) -> None:
        """Have the lease renewed in the background by a process of its own, until `unkeep`."""
        if self._heart is None:
            from dibs.queues.heart import start_heart

            self._heart = start_heart(self)
        self._heart.hold(lease)

    def unkeep(self, lease: Lease) -> None:
        if self._heart is not None:
            self._heart.drop(lease)

    # Look

    @abstractmethod
    def store_time(self) -> float:
        """Now, by the store's clock: seconds since 1970. Delays are aged on it."""

    @abstractmethod
    def get(self, ref: str) -> Task:
        """The task with this id or key; TaskNotFound if there is none."""

    @abstractmethod
    def tasks(
        self,
        state: str | None = None,
        *,
        project: str | None = None,
        labels: Iterable[str] = (),
        limit: int | None = None,
    ) -> Iterator[Task]:
        """Tasks, in about the order in which they would run. A snapshot by reading, not a transaction."""

    def newest(
        self,
        state: str = State.COMPLETED,
        *,
        project: str | None = None,
        labels: Iterable[str] = (),
        limit: int | None = None,
    ) -> Iterator[Task]:
        """Tasks that are completed, failed or cancelled, those that ended last first. Backends that would have to read
        everything for that (buckets, others' files, memory) list them as `tasks` does."""
        return self._newest(ended_state(state), make_filter(project, labels), limit)

    def _newest(self, state: State, wanted: Filter, limit: int | None) -> Iterator[Task]:
        return self.tasks(state, project=wanted.project, labels=wanted.labels, limit=limit)

    @abstractmethod
    def claimed(self) -> list[Claim]:
        """Who holds what now."""

    @abstractmethod
    def stats(self) -> Stats:
        """Counts by state, priority, project and label."""

    def cost(self) -> dict[str, Any]:
        """Requests and money, for a task and for an idle worker, where the medium charges by the request."""
        raise Unsupported("this queue asks nothing that is paid for by the request; only buckets have a cost")

    @abstractmethod
    def detail(self, ref: str) -> Detail:
        """Everything known about one task: who holds it, its attempts, result, what it waits for."""

    def why(self, ref: str, **filters: Any) -> Why:
        """What keeps the task from running, in one or two lines; with filters, whether a claimer using them sees it."""
        return explain(self.detail(ref), self.store_time(), self.clock.wall(), make_filter(**filters))

    # Steer

    @abstractmethod
    def cancel(self, ref: str) -> Task:
        """Take it out of the queue; a holder is fenced off. Refused when it is already over."""

    @abstractmethod
    def retry(self, ref: str) -> Task:
        """Put a failed or cancelled task back, with fresh attempts and the epochs going on."""

    def set_priority(self, ref: str, priority: int | str) -> Task:
        """Give a task that waits another place in the order. It keeps that through whatever happens to it later.

        One step; setting the same again changes nothing. Refused when it is held or over. Unsupported where
        `capabilities.prioritises` is false.
        """
        return self._prioritise(ref, priority_of(priority))

    def _prioritise(self, ref: str, priority: int) -> Task:
        scheme = self.url.partition(":")[0]
        raise Unsupported(f"{scheme}: has no priorities; use a queue for each, or file: with `dibs push --priority`")

    @abstractmethod
    def pause(self, reason: str = "") -> None:
        """Nothing is claimed until `resume`; what is held goes on."""

    @abstractmethod
    def resume(self) -> None: ...

    @property
    @abstractmethod
    def paused(self) -> str | None:
        """Why the queue is paused, or None when it is not."""

    @abstractmethod
    def purge(self, state: State | str = State.COMPLETED, *, older_than: float = 3600.0) -> int:
        """Delete finished tasks (completed, failed or cancelled) that ended more than `older_than` seconds ago."""

    # Move

    @property
    def address(self) -> str:
        """Names the queue, wherever it was opened from, without secrets: what was moved says where it went by it.
        Of the settings in the URL only those count that say which queue it is."""
        from dibs.redact import redact

        place, _, query = self.url.partition("?")
        kept = sorted(part for part in query.split("&") if part.partition("=")[0] in PLACE_SETTINGS)
        return redact("?".join([place, "&".join(kept)] if kept else [place]))

    def gate(self) -> "Gate":
        """How whole tasks leave this queue and come in; Unsupported where `capabilities.admits` is false."""
        scheme = self.url.partition(":")[0]
        raise Unsupported(
            f"{scheme}: cannot let whole tasks in or out (ids, attempts, history); "
            f"use file: for `dibs move` and `dibs copy`, or push the payloads"
        )

    def close(self) -> None:
        """Give up the session; leases still held are left to expire. Safe to call twice."""
        if self._heart is not None:
            self._heart.stop()
            self._heart = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        from dibs.redact import redact

        return f"<{type(self).__name__} {redact(self.url)}>"


def _working_folder() -> str | None:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return None


def ended_state(state: str) -> State:
    """BadInput when it is not one that a task ends in."""
    if state not in TERMINAL:
        raise BadInput(f"state {state!r} is not the end of a task; use one of {', '.join(sorted(TERMINAL))}")
    return State(state)


def _checked_limit(limit: int) -> int:
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise BadInput(f"limit {limit} is not acceptable; use a whole number from 1")
    return limit


def _checked_ttl(ttl: float) -> float:
    if type(ttl) is float and 0.01 <= ttl <= MAX_TTL:
        return ttl
    return checked_number("ttl", ttl, 0.01, MAX_TTL)
