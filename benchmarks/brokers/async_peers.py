"""ARQ, SAQ and taskiq on Redis: asynchronous ones, each as its documentation runs it, with what makes it faster."""

import asyncio
from abc import abstractmethod
from importlib.util import find_spec
from typing import Any

from benchmarks.brokers.broker import Broker, Task
from benchmarks.children import script

AT_ONCE = 20


def faster_loops() -> None:
    """As taskiq does by itself."""
    if find_spec("uvloop") is not None:
        import uvloop

        asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())


class _AsyncBroker(Broker):
    batches = f"{AT_ONCE} calls at once"

    @abstractmethod
    async def connect(self, place: str) -> Any: ...

    @abstractmethod
    async def send(self, client: Any, task: Task) -> None: ...

    def open(self, place: str) -> Any:
        faster_loops()
        loop = asyncio.new_event_loop()
        return loop, loop.run_until_complete(self.connect(place))

    def push(self, handle: Any, tasks: list[Task]) -> None:
        loop, client = handle

        async def each() -> None:
            for task in tasks:
                await self.send(client, task)

        loop.run_until_complete(each())

    def push_batch(self, handle: Any, tasks: list[Task]) -> None:
        loop, client = handle

        async def together() -> None:
            for start in range(0, len(tasks), AT_ONCE):
                await asyncio.gather(*(self.send(client, task) for task in tasks[start : start + AT_ONCE]))

        loop.run_until_complete(together())


class ArqBroker(_AsyncBroker):
    name = "ARQ"
    module = "arq"
    absent = "its newest release wants redis-py older than 6, the others here a newer one"
    limit = 2000
    note = "30 jobs at once, faster here than 10 or 100; results not kept"

    async def connect(self, place: str) -> Any:
        from arq import create_pool
        from arq.connections import RedisSettings

        return await create_pool(RedisSettings.from_dsn(place))

    async def send(self, client: Any, task: Task) -> None:
        await client.enqueue_job("noop", task)

    def commands(self, place: str, processes: int) -> list[list[str]]:
        return [[script("arq"), "benchmarks.brokers.arq_app.WorkerSettings"]] * processes


class SaqBroker(_AsyncBroker):
    name = "SAQ"
    module = "saq"
    limit = 2000
    note = (
        "10 jobs at once, results not kept, no time limit; its extra wants redis-py older than 8, it runs with this one"
    )

    async def connect(self, place: str) -> Any:
        from benchmarks.brokers.saq_app import queue

        await queue.connect()
        return queue

    async def send(self, client: Any, task: Task) -> None:
        await client.enqueue("noop", payload=task, timeout=0, ttl=-1)

    def commands(self, place: str, processes: int) -> list[list[str]]:
        return [[script("saq"), "benchmarks.brokers.saq_app.settings", "--workers", str(processes), "--quiet"]]


class TaskiqBroker(_AsyncBroker):
    name = "taskiq"
    module = "taskiq_redis"
    limit = 5000
    note = "streams, which it acknowledges, and here no slower than its list queue; 100 tasks at once"

    async def connect(self, place: str) -> Any:
        from benchmarks.brokers.taskiq_app import broker, noop

        await broker.startup()
        return noop

    async def send(self, client: Any, task: Task) -> None:
        await client.kiq(task)

    def commands(self, place: str, processes: int) -> list[list[str]]:
        worker = [script("taskiq"), "worker", "benchmarks.brokers.taskiq_app:broker", "--workers", str(processes)]
        return [[*worker, "--no-parse", "--max-async-tasks", "100", "--log-level", "ERROR"]]
