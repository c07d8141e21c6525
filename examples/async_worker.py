"""An asyncio worker that has several tasks in hand at once.

python examples/async_worker.py queues/async
"""

import asyncio
import sys

import dibs.aio


async def handle(lease: dibs.aio.Lease) -> None:
    async with lease:  # kept alive meanwhile; completed at the end, failed on an exception
        await asyncio.sleep(lease.payload["seconds"])
        lease.result = "slept"


async def main(place: str) -> None:
    async with dibs.aio.open(place) as queue:
        await queue.push_many([{"seconds": 0.05}] * 10)
        async with asyncio.TaskGroup() as group:
            async for lease in queue.claims():
                group.create_task(handle(lease))
        stats = await queue.stats()
        print(f"{stats.states['completed']} completed")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
