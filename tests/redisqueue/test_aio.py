"""asyncio on a backend that wakes who waits."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

import dibs
import dibs.aio
from dibs.queues.queue import Queue
from waiting import PATIENCE


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), PATIENCE))


def test_a_push_wakes_who_waits(url: str, queue: Queue) -> None:
    async def test() -> None:
        async with dibs.aio.open(f"{url}&idle=600") as opened:
            waiting = [asyncio.create_task(opened.claim(wait=600)) for _ in range(12)]
            await asyncio.sleep(0.5)  # so that they wait, most likely; if not, they find it at once
            for number in range(12):
                queue.push(number)
            leases = await asyncio.gather(*waiting)
            assert sorted(lease.payload for lease in leases if lease is not None) == list(range(12))
            lost = await opened.complete_many([lease for lease in leases if lease is not None])
            assert lost == []
            assert (await opened.stats()).states["completed"] == 12

    run(test)


def test_what_becomes_due_wakes_who_waits(url: str, queue: Queue) -> None:
    async def test() -> None:
        queue.push("later", delay=1.0)
        async with dibs.aio.open(f"{url}&idle=600") as opened:
            lease = await opened.claim(wait=600)
            assert lease is not None and lease.payload == "later"

    run(test)


def test_a_cancelled_wait_takes_nothing_away(url: str, queue: Queue) -> None:
    async def test() -> None:
        async with dibs.aio.open(f"{url}&idle=600") as opened:
            waiting = asyncio.create_task(opened.claim(wait=600))
            await asyncio.sleep(0.5)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            queue.push("for another")
            lease = await opened.claim(wait=60)
            assert lease is not None

    run(test)


def test_closing_ends_the_waiting(url: str, queue: Queue) -> None:
    async def test() -> None:
        opened = await dibs.aio.open(f"{url}&idle=600")
        waiting = asyncio.create_task(opened.claim(wait=600))
        await asyncio.sleep(0.5)
        waiting.cancel()
        await opened.close()

    run(test)


def test_a_completion_brings_the_next(url: str, queue: Queue) -> None:
    async def test() -> None:
        queue.push_many([1, 2])
        async with dibs.aio.open(url) as opened:
            first = await opened.claim()
            assert first is not None
            second = await opened.complete_and_claim(first, "done")
            assert second is not None and second.payload == 2
            assert await opened.complete_and_claim(second) is None
            assert (await opened.detail(first.id)).result == "done"

    run(test)
