"""A proxy that makes a server misbehave: it stands before one, passes everything on, and puts faults in between.

    with FaultProxy(server.endpoint, Faults(Rule(Fault.LOST, ("create",), "*/leases/*"))) as proxy:
        store = server.store(bucket, endpoint=proxy.endpoint)

Requests pass byte for byte, the Host header too, so signatures stay right. It runs in a thread of this process.
`seen` counts requests by kind, `passed` those that the server has answered, `done` the faults; one that the server
itself left unanswered counts there as "broken".
`cut` is a network that is away: connections end, new ones are refused; `mend` brings it back at the same address.
"""

import asyncio
import contextlib
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any
from urllib.parse import urlsplit

from servers.faults import Fault, Faults
from servers.http1 import LIMIT, Answer, Request, read_request
from servers.lagging import Lagging
from servers.upstream import Upstream

_SAID = {
    Fault.ERROR: (500, "Internal Server Error", "InternalError", "We encountered an internal error. Please try again."),
    Fault.SLOW_DOWN: (503, "Service Unavailable", "SlowDown", "Please reduce your request rate."),
    Fault.CONFLICT: (409, "Conflict", "ConditionalRequestConflict", "A conflicting operation occurred."),
}
_SAID[Fault.ERROR_LATE] = _SAID[Fault.ERROR]
_BROKEN = (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)


class FaultProxy:
    def __init__(
        self, endpoint: str, faults: Faults | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`clock` tells the age of what listings show."""
        self.faults = faults or Faults()
        self.seen: Counter[str] = Counter()
        self.passed: Counter[str] = Counter()
        self.done: Counter[str] = Counter()
        parts = urlsplit(endpoint)
        self._upstream = Upstream(parts.hostname or "127.0.0.1", parts.port or 80)
        self._lagging = Lagging(clock)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._server: asyncio.Server | None = None
        self._clients: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._port = 0

    def __enter__(self) -> "FaultProxy":
        self._thread.start()
        self.mend()
        return self

    def __exit__(self, *exc: object) -> None:
        self._wait(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def cut(self) -> None:
        self._wait(self._cut())

    def mend(self) -> None:
        self._wait(self._listen())

    def _wait(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=30)

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._client, "127.0.0.1", self._port, limit=LIMIT, backlog=256)
        self._port = self._server.sockets[0].getsockname()[1]

    async def _cut(self) -> None:
        if self._server is not None:
            self._server.close()
        for writer in self._clients:
            writer.transport.abort()

    async def _stop(self) -> None:
        await self._cut()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._upstream.close()

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._clients.add(writer)
        try:
            with contextlib.suppress(*_BROKEN, asyncio.CancelledError):
                while request := await read_request(reader, writer):
                    self.seen[request.kind] += 1
                    answer = await self._answer(request, writer)
                    if answer is None:
                        break
                    writer.write(answer.data)
                    await writer.drain()
                    if answer.closes:
                        break
        finally:
            self._tasks.discard(task)
            self._clients.discard(writer)
            writer.close()

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> Answer | None:
        """None: the connection ends without one."""
        fault = self.faults.choose(request)
        if fault is not None:
            self.done[fault] += 1
        if fault is Fault.RESET:
            _reset(writer)
            return None
        if fault in (Fault.ERROR, Fault.SLOW_DOWN, Fault.CONFLICT):
            return _said(fault, request)
        if fault is Fault.STALL:
            await asyncio.sleep(self.faults.stall_seconds)
        answer = await self._send(request)
        if fault is Fault.TWICE:
            answer = await self._send(request)
        if fault is Fault.LOST:
            return None
        if fault is Fault.ERROR_LATE:
            return _said(fault, request)
        if fault is Fault.LAG and request.kind == "list":
            return self._lagging.old(request, answer, self.faults.lag_seconds)
        return answer

    async def _send(self, request: Request) -> Answer:
        try:
            answer = await self._upstream.send(request)
        except _BROKEN:
            self.done["broken"] += 1
            raise
        self.passed[request.kind] += 1
        self._lagging.saw(request, answer)
        return answer


def _said(fault: Fault, request: Request) -> Answer:
    status, reason, code, message = _SAID[fault]
    body = f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{code}</Code><Message>{message}</Message></Error>'
    head = f"HTTP/1.1 {status} {reason}\r\nContent-Type: application/xml\r\nContent-Length: {len(body)}\r\n\r\n"
    return Answer(head.encode(), b"" if request.method == "HEAD" else body.encode())


def _reset(writer: asyncio.StreamWriter) -> None:
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
