"""One request on a connection and its answer, as an ASGI application sees them."""

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Protocol

STATUS = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}
App = Callable[[dict[str, Any], Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]]


class Way(Protocol):
    """The connection, as far as an exchange needs it."""

    transport: asyncio.Transport

    def ended(self, exchange: "Exchange") -> None: ...

    async def written(self) -> None: ...


class Exchange:
    __slots__ = (
        "_body", "_connection", "_continue", "_gone", "_head", "_news", "_sent", "_told", "_whole", "keeps", "scope",
    )  # fmt: skip

    def __init__(self, connection: Way, scope: dict[str, Any], keeps: bool) -> None:
        self._connection = connection
        self.scope = scope
        self.keeps = keeps
        self._body = b""
        self._whole = False
        self._told = False  # that it is whole
        self._gone = False
        self._news: asyncio.Event | None = None
        self._continue = (b"expect", b"100-continue") in scope["headers"]
        self._head: tuple[int, list[tuple[bytes, bytes]]] | None = None
        self._sent = ""  # "head": it goes on in chunks; "all"

    async def run(self, app: App) -> None:
        try:
            await app(self.scope, self.receive, self.send)
        finally:
            if self._sent != "all":
                self.keeps = False
                self._connection.transport.close()
            self._connection.ended(self)

    def more(self, data: bytes) -> int:
        if self._sent != "all":
            self._body += data
            self._tell()
        return len(self._body)

    def whole(self) -> None:
        self._whole = True
        self._tell()

    def lost(self) -> None:
        self._gone = True
        self._tell()

    def hangs_on(self) -> str | None:
        """The queue that it waits for, when its answer has not begun and nobody asked it to wait."""
        scope = self.scope
        return scope.get("queue") if self._whole and not self._sent and not scope.get("waits") else None

    def give_up(self, answer: bytes) -> None:
        """Answered in place of whoever still works on it: what was begun goes on, and nobody hears of it."""
        self._gone, self.keeps = True, False
        self._connection.transport.write(answer)
        self._connection.transport.close()

    def _tell(self) -> None:
        if self._news is not None:
            self._news.set()

    def here(self) -> bytes | None:
        """The whole body, if it has come already and nobody has begun to read it."""
        if not self._whole or self._told or self._gone:
            return None
        self._told = True
        body, self._body = self._body, b""
        return body

    async def receive(self) -> dict[str, Any]:
        """What has come of the body; when all of it is told, that the client is gone."""
        transport = self._connection.transport
        if self._continue and not self._sent and not transport.is_closing():
            self._continue = False
            transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        while True:
            if self._gone or self._sent == "all":
                return {"type": "http.disconnect"}
            if self._body or (self._whole and not self._told):
                self._told = self._whole
                body, self._body = self._body, b""
                return {"type": "http.request", "body": body, "more_body": not self._whole}
            transport.resume_reading()
            self._news = asyncio.Event()
            await self._news.wait()

    async def send(self, message: dict[str, Any]) -> None:
        if self._gone:
            return
        if message["type"] == "http.response.start":
            self._head = (message["status"], message["headers"])
            return
        body, more = message.get("body", b""), message.get("more_body", False)
        if self.scope["method"] == "HEAD":
            body = b""
        transport = self._connection.transport
        if self._sent == "head":
            end = b"" if more else b"0\r\n\r\n"
            transport.write((b"%x\r\n%s\r\n" % (len(body), body) if body else b"") + end)
        elif more:
            transport.write(self._start(b"transfer-encoding: chunked\r\n") + b"%x\r\n%s\r\n" % (len(body), body))
            self._sent = "head"
        else:
            transport.write(self._start() + body)
        if not more:
            self._sent = "all"
        await self._connection.written()

    def _start(self, more: bytes = b"") -> bytes:
        if self._head is None:
            raise RuntimeError("the body of an answer was sent before its head")
        status, headers = self._head
        if (b"connection", b"close") in headers:
            self.keeps = False
        elif not self.keeps:
            more += b"connection: close\r\n"
        return b"%s%s%s\r\n" % (STATUS[status], b"".join([b"%s: %s\r\n" % pair for pair in headers]), more)
