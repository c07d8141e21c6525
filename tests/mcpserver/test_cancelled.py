"""A claim whose answer nobody waits for is taken back: the client does not know of it."""

import asyncio
import threading
from pathlib import Path

from mcp import Client

from dibs.mcp.holding import Holding
from dibs.mcp.places import Places
from dibs.mcp.server import make_server
from dibs.mcp.tools import Desk
from dibs.queues.queue import Queue
from dibs.states import State
from waiting import PATIENCE, until

from .client import queue_in


class There:
    url = "file:q"

    def setting(self, name: str) -> float:
        return 60.0


def test_a_claim_that_the_client_cancelled_is_taken_back(tmp_path: Path) -> None:
    queue = queue_in(tmp_path, tasks=1)
    asked, go_on = threading.Event(), threading.Event()

    def opening(place: object, *, create: bool) -> Queue:
        asked.set()
        assert go_on.wait(PATIENCE)
        return queue

    desk = Desk(Places([("q", There())], opening), Holding())

    async def session() -> None:
        async with Client(make_server(desk), mode="legacy") as client:
            call = asyncio.create_task(client.call_tool("claim_task", {}))
            assert await asyncio.to_thread(asked.wait, PATIENCE)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            await client.list_tools()  # it is heard after the cancellation
            go_on.set()
            await asyncio.to_thread(until, lambda: _ready_epochs(queue), equals=[1])

    asyncio.run(session())
    assert desk.holding.held(desk.places.use("q")) == []
    assert queue.claimed() == []
    queue.close()


def _ready_epochs(queue: Queue) -> list[int]:
    return [task.epoch for task in queue.tasks(State.READY)]
