"""Queues for asyncio: the same names, awaited. A thin layer over threads; the core is synchronous.

    queue = await dibs.aio.open("queues/scrape")
    await queue.push({"url": "https://example.com"})
    async for lease in queue.claims(wait=30):
        async with lease:                  # renewed while held; completed on exit, failed on exception
            await scrape(lease.payload)

Cancellation is safe: a claim that succeeds after its caller was cancelled is given back at once, a
step that was begun is finished. Waiting for tasks occupies no thread, but where the server wakes who waits: there it is
one for each that does.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import Any, TypeVar

from dibs.errors import DibsError
from dibs.queues import DEFAULT_URL, open_queue
from dibs.queues import held as sync
from dibs.queues.queue import DEFAULT_TTL
from dibs.queues.queue import Queue as SyncQueue
from dibs.queues.views import Claim, Detail, Stats, Why
from dibs.task import Task

T = TypeVar("T")
_THREADS = 8
_MOST_WAITING = 256


def open(url: str = DEFAULT_URL, **options: Any) -> "Opening":  # noqa: A001 - the same name as dibs.open
    """Open the queue at `url`: `queue = await open(url)`, or `async with open(url) as queue`."""
    return Opening(url, options)


class Opening:
    """A queue that is about to be opened."""

    def __init__(self, url: str, options: dict[str, Any]) -> None:
        self._url = url
        self._options = options
        self._queue: Queue | None = None

    def __await__(self) -> Generator[Any, None, "Queue"]:
        return self._open().__await__()

    async def __aenter__(self) -> "Queue":
        self._queue = await self._open()
        return self._queue

    async def __aexit__(self, *_: object) -> None:
        if self._queue is not None:
            await self._queue.close()

    async def _open(self) -> "Queue":
        threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="dibs")
        try:
            queue = await _finished(threads.submit(partial(open_queue, self._url, **self._options)))
        except BaseException:
            threads.shutdown(wait=False)
            raise
        return Queue(queue, threads)


class Lease:
    """A held task; see `dibs.Lease`."""

    def __init__(self, lease: sync.Lease, run: Callable[..., Awaitable[Any]]) -> None:
        self._run = run
        self.sync = lease

    def __getattr__(self, name: str) -> Any:
        return getattr(self.sync, name)  # id, task, payload, epoch, worker, expires_at, held, state …

    @property
    def result(self) -> Any:
        return self.sync.result

    @result.setter
    def result(self, value: Any) -> None:
        self.sync.result = value

    async def renew(self) -> None:
        await self._run(self.sync.renew)

    async def complete(self, result: Any = None) -> None:
        await self._run(self.sync.complete, result)

    async def release(self, delay: float = 0.0) -> None:
        await self._run(self.sync.release, delay)

    async def fail(self, error: object = "", *, retry: bool = True) -> None:
        await self._run(self.sync.fail, error, retry=retry)

    async def __aenter__(self) -> "Lease":
        await self._run(self.sync.__enter__)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._run(self.sync.__exit__, kind, error, trace)

    def __repr__(self) -> str:
        return repr(self.sync)


class Queue:
    """See `dibs.Queue`; `sync` is the queue underneath."""

    def __init__(self, queue: SyncQueue, threads: ThreadPoolExecutor | None = None) -> None:
        self.sync = queue
        self._threads = threads or ThreadPoolExecutor(_THREADS, thread_name_prefix="dibs")
        self._waiting = ThreadPoolExecutor(_MOST_WAITING, thread_name_prefix="dibs-waiting")
        self._closed = False

    async def push(self, payload: Any = None, **options: Any) -> Task:
        return await self._run(self.sync.push, payload, **options)

    async def push_many(self, items: Iterable[Any]) -> list[Task]:
        return await self._run(self.sync.push_many, items)

    async def claim(self, *, ttl: float = DEFAULT_TTL, wait: float | None = 0.0, **filters: Any) -> Lease | None:
        async for lease in self.claims(ttl=ttl, wait=wait, **filters):
            return lease
        return None

    async def claim_many(self, limit: int, *, ttl: float = DEFAULT_TTL, **filters: Any) -> list[Lease]:
        return await self._claimed(self._threads.submit(partial(self.sync.claim_many, limit, ttl=ttl, **filters)))

    async def complete_many(self, leases: Iterable[Lease]) -> list[Lease]:
        """Complete each; returns those that were lost instead."""
        given = {id(lease.sync): lease for lease in leases}
        lost = await self._run(self.sync.complete_many, [lease.sync for lease in given.values()])
        return [given[id(lease)] for lease in lost]

    async def complete_and_claim(
        self, lease: Lease, result: Any = None, *, ttl: float = DEFAULT_TTL, **filters: Any
    ) -> Lease | None:
        """Complete a task and claim the next. LeaseLost when the completion is refused: then nothing is claimed."""

        def chain() -> list[sync.Lease]:
            following = self.sync.complete_and_claim(lease.sync, result, ttl=ttl, **filters)
            return [] if following is None else [following]

        leases = await self._claimed(self._threads.submit(chain))
        return leases[0] if leases else None

    async def complete_and_claim_many(
        self, leases: Iterable[Lease], limit: int, *, ttl: float = DEFAULT_TTL, **filters: Any
    ) -> list[Lease]:
        """Complete each, with its `result`, and claim up to `limit` others. What was lost says so by its `state`."""
        given = [lease.sync for lease in leases]
        chain = partial(self.sync.complete_and_claim_many, given, limit, ttl=ttl, **filters)
        return await self._claimed(self._threads.submit(chain))

    async def claims(
        self, *, ttl: float = DEFAULT_TTL, wait: float | None = 0.0, **filters: Any
    ) -> AsyncIterator[Lease]:
        """Leases one after another, until the queue has had nothing for `wait` seconds (None: for ever)."""
        clock = self.sync.clock
        idle_since: float | None = None
        pause = 0.0
        while True:
            leases = await self.claim_many(1, ttl=ttl, **filters)
            if leases:
                idle_since = None
                yield leases[0]
                continue
            now = clock.boottime()
            if idle_since is None:
                idle_since, pause = now, 0.01
            left = None if wait is None else wait - (now - idle_since)
            if left is not None and left <= 0:
                return
            if self.sync.wakes:
                idle = self.sync.idle_seconds
                found = await self._woken(idle if left is None else min(idle, left), {"ttl": ttl, **filters})
                if found is not None:
                    idle_since = None
                    yield found
                continue
            pause = min(pause * 1.5, self.sync.idle_seconds)
            await asyncio.sleep(pause if left is None else min(pause, left))

    async def _woken(self, seconds: float, wanted: dict[str, Any]) -> Lease | None:
        """A lease as soon as there is one. Looking and waiting are of one thread, so that no word is missed between;
        it is none of those that the steps need."""

        def look() -> list[sync.Lease]:
            leases = self.sync.claim_many(1, **wanted)
            if not leases and not self._closed:
                self.sync._wait(seconds)
                leases = [] if self._closed else self.sync.claim_many(1, **wanted)
            return leases

        try:
            leases = await self._claimed(self._waiting.submit(look))
        except asyncio.CancelledError:
            self.sync.rouse()
            raise
        return leases[0] if leases else None

    async def _claimed(self, future: "Future[list[sync.Lease]]") -> list[Lease]:
        try:
            leases = await asyncio.shield(asyncio.wrap_future(future))
        except asyncio.CancelledError:
            future.add_done_callback(_give_back)
            raise
        return [Lease(lease, self._run) for lease in leases]

    async def lease(self, task_id: str, epoch: int) -> Lease:
        return Lease(await self._run(self.sync.lease, task_id, epoch), self._run)

    async def get(self, ref: str) -> Task:
        return await self._run(self.sync.get, ref)

    async def tasks(self, state: str | None = None, **filters: Any) -> list[Task]:
        return await self._run(lambda: list(self.sync.tasks(state, **filters)))

    async def claimed(self) -> list[Claim]:
        return await self._run(self.sync.claimed)

    async def stats(self) -> Stats:
        return await self._run(self.sync.stats)

    async def detail(self, ref: str) -> Detail:
        return await self._run(self.sync.detail, ref)

    async def why(self, ref: str, **filters: Any) -> Why:
        return await self._run(self.sync.why, ref, **filters)

    async def cancel(self, ref: str) -> Task:
        return await self._run(self.sync.cancel, ref)

    async def retry(self, ref: str) -> Task:
        return await self._run(self.sync.retry, ref)

    async def set_priority(self, ref: str, priority: int | str) -> Task:
        return await self._run(self.sync.set_priority, ref, priority)

    async def pause(self, reason: str = "") -> None:
        await self._run(self.sync.pause, reason)

    async def resume(self) -> None:
        await self._run(self.sync.resume)

    async def purge(self, state: str = "completed", *, older_than: float = 3600.0) -> int:
        return await self._run(self.sync.purge, state, older_than=older_than)

    async def close(self) -> None:
        self._closed = True
        self.sync.rouse()
        self._waiting.shutdown(wait=False, cancel_futures=True)
        await self._run(self.sync.close)
        self._threads.shutdown(wait=False)

    async def __aenter__(self) -> "Queue":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _run(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        return await _finished(self._threads.submit(partial(function, *args, **kwargs)))


async def _finished(future: "Future[T]") -> T:
    """The result of a step. Cancelling the caller does not undo it: the step is waited for, then the caller is told."""
    waiting = asyncio.wrap_future(future)
    try:
        return await asyncio.shield(waiting)
    except asyncio.CancelledError:
        if not waiting.cancelled():
            await asyncio.wait([waiting])
            if not waiting.cancelled():
                waiting.exception()  # seen: the cancellation is what is raised
        raise


def _give_back(future: "Future[list[sync.Lease]]") -> None:
    """Runs in the thread that claimed, once it has, with nobody left to have the leases."""
    if future.cancelled() or future.exception() is not None:
        return
    for lease in future.result():
        try:
            lease.release()
        except DibsError:
            pass  # it runs out by itself
