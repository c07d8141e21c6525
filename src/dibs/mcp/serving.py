"""A session over standard input and output: from its first message to everything given back.

It ends when the client closes standard input, or with SIGTERM, SIGHUP or Ctrl-C. Calls that run are waited for,
then what the client holds is given back. A second signal ends it at once; then, as with SIGKILL, the hearts
of the queues see the process gone and give back what it held.
"""

import os
import signal
from collections.abc import Callable
from typing import Any

import anyio
import anyio.abc
import anyio.to_thread
from mcp.server import Server
from mcp.server.stdio import stdio_server

from dibs.mcp.server import make_server
from dibs.mcp.stdin import Lines
from dibs.mcp.tools import Desk

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def serve(desk: Desk, complain: Callable[[str], None]) -> int:
    """Returns the signal that ended it, or 0. `complain` takes a line for people."""
    return anyio.run(_serve, desk, complain)


async def _serve(desk: Desk, complain: Callable[[str], None]) -> int:
    session = anyio.CancelScope()
    ended_by: list[int] = []

    async def watch(*, task_status: anyio.abc.TaskStatus[None]) -> None:
        with anyio.open_signal_receiver(*_SIGNALS) as signals:
            task_status.started()
            async for number in signals:
                if ended_by:
                    os._exit(128 + number)
                ended_by.append(number)
                session.cancel()

    async with anyio.create_task_group() as group:
        await group.start(watch)
        try:
            with session:
                await _converse(make_server(desk))
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(_leave, desk, complain)
        group.cancel_scope.cancel()
    return ended_by[0] if ended_by else 0


async def _converse(server: "Server[Any]") -> None:
    try:
        async with stdio_server(stdin=Lines.of_this_process()) as (messages, answers):
            await server.run(messages, answers, server.create_initialization_options())
    except* OSError:
        pass  # nobody reads the answers any more: the client is gone


def _leave(desk: Desk, complain: Callable[[str], None]) -> None:
    stuck = desk.holding.release_all(complain)
    desk.places.close(leaving=stuck)
