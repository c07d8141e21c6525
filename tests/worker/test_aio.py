"""Queues for asyncio."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from dibs import aio
from dibs.errors import LeaseLost, TaskNotFound
from dibs.queues.queue import Queue
from dibs.states import State
from waiting import PATIENCE, until


def run(make: Callable[[aio.Queue], Awaitable[Any]], url: str) -> Any:
    async def main() -> Any:
        async with aio.open(url) as queue:
            return await asyncio.wait_for(make(queue), PATIENCE)

    return asyncio.run(main())


def test_the_same_names(url: str) -> None:
    async def use(queue: aio.Queue) -> None:
        task = await queue.push({"a": 1}, key="k", priority="high")
        assert (await queue.get("k")).id == task.id
        await queue.push_many([2, 3])
        assert len(await queue.tasks("ready", limit=2)) == 2
        lease = await queue.claim(ttl=30)
        assert lease is not None
        assert (lease.id, lease.payload, lease.epoch, lease.held) == (task.id, {"a": 1}, 1, True)
        assert [claim.id for claim in await queue.claimed()] == [task.id]
        await lease.renew()
        await lease.complete("done")
        assert (await queue.detail(task.id)).result == "done"
        with pytest.raises(LeaseLost):
            await lease.complete()
        (other, _) = await queue.claim_many(5)
        await other.fail("bad", retry=False)
        await queue.retry(other.id)
        assert "ready" in (await queue.why(other.id)).text
        await queue.cancel(other.id)
        await queue.pause("a reason")
        assert (await queue.stats()).paused == "a reason"
        await queue.resume()
        assert await queue.purge(older_than=0) == 1
        again = await queue.lease(_.id, _.epoch)
        await again.release()
        with pytest.raises(TaskNotFound):
            await queue.get("0" * 32)

    run(use, url)


def test_leases_as_context_managers(url: str, queue: Queue) -> None:
    queue.push_many([0, 1, 2])

    async def use(queue: aio.Queue) -> list[int]:
        seen = []
        async for lease in queue.claims(ttl=30):
            try:
                async with lease:
                    seen.append(lease.payload)
                    lease.result = 10 / lease.payload
            except ZeroDivisionError:
                pass
        return seen

    assert sorted(run(use, url)) == [0, 1, 2]
    assert [task.payload for task in queue.tasks("scheduled")] == [0]
    assert {queue.detail(task.id).result for task in queue.tasks("completed")} == {10, 5}


def test_waiting_for_a_task_does_not_block_the_loop_or_a_thread(url: str) -> None:
    async def use(queue: aio.Queue) -> list[int]:
        waiting = [asyncio.create_task(queue.claim(wait=None)) for _ in range(20)]
        await asyncio.sleep(0)
        await queue.push_many(range(20))
        leases = await asyncio.gather(*waiting)
        return sorted(lease.payload for lease in leases if lease is not None)

    assert run(use, url) == list(range(20))


def test_a_claim_that_succeeds_after_cancellation_is_given_back(url: str, queue: Queue) -> None:
    pushed = queue.push("x")

    async def use(opened: aio.Queue) -> None:
        begun, go_on = threading.Event(), threading.Event()
        claim_many = opened.sync.claim_many

        def slow(*args: Any, **kwargs: Any) -> Any:
            begun.set()
            go_on.wait()
            return claim_many(*args, **kwargs)

        opened.sync.claim_many = slow  # type: ignore[method-assign]
        claiming = asyncio.create_task(opened.claim(ttl=60))
        await asyncio.to_thread(begun.wait)
        claiming.cancel()
        with pytest.raises(asyncio.CancelledError):
            await claiming
        go_on.set()
        await asyncio.to_thread(until, lambda: queue.get(pushed.id).epoch, "the claim", equals=1)
        await asyncio.to_thread(until, lambda: queue.stats().states[State.READY], "it to be given back", equals=1)

    run(use, url)
    (task,) = queue.tasks()
    assert (task.state, task.attempts, task.epoch) == (State.READY, 0, 1)


def test_cancelled_body_releases(url: str, queue: Queue) -> None:
    task = queue.push("x")

    async def use(opened: aio.Queue) -> None:
        inside = asyncio.Event()

        async def work() -> None:
            async with await opened.claim(ttl=60):  # type: ignore[union-attr]
                inside.set()
                await asyncio.sleep(60)

        working = asyncio.create_task(work())
        await inside.wait()
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        assert (await opened.get(task.id)).state is State.READY

    run(use, url)
    assert queue.get(task.id).attempts == 0


def test_a_step_that_was_begun_is_finished_though_its_caller_is_cancelled(url: str, queue: Queue) -> None:
    task = queue.push("x")

    async def use(opened: aio.Queue) -> None:
        lease = await opened.claim(ttl=60)
        assert lease is not None
        begun, go_on = threading.Event(), threading.Event()
        complete = opened.sync.complete

        def slow(*args: Any, **kwargs: Any) -> None:
            begun.set()
            go_on.wait()
            complete(*args, **kwargs)

        opened.sync.complete = slow  # type: ignore[method-assign]
        completing = asyncio.create_task(lease.complete())
        await asyncio.to_thread(begun.wait)
        completing.cancel()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await completing
        assert lease.state == "completed"

    run(use, url)
    assert queue.get(task.id).state is State.COMPLETED


def test_open_can_be_awaited(url: str) -> None:
    async def main() -> int:
        queue = await aio.open(url)
        await queue.push(1)
        total = (await queue.stats()).total
        await queue.close()
        return total

    assert asyncio.run(main()) == 1
