"""HTTP/1.1 on one connection: from bytes to what the application is asked, and back. An answer that is there as a
whole is one write.

uvicorn starts and stops the server; its own protocols answer a third as fast. What a client may do to a connection is
bounded here: how long it may say nothing, how large a header may be, how much of a body waits to be read.
"""

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import Any

import httptools

from dibs.queues.remote.wire import dump
from dibs.serve.exchange import STATUS, App, Exchange
from dibs.serve.refusal import Refusal

HEAD_SECONDS = 15.0  # within which a request must have begun, and its header be there
IDLE_SECONDS = 75.0  # between two requests
READ_SECONDS = 30.0  # for which a client may read nothing of its answer
MOST_HEAD_BYTES = 64 * 1024
_MOST_WAITING_BYTES = 256 * 1024


class Connection(asyncio.Protocol):
    """`state` is uvicorn's: it shuts down what is in its set of connections and waits for its tasks."""

    def __init__(self, app: App, state: Any, loop: asyncio.AbstractEventLoop, most: int) -> None:
        self._app = app
        self._state = state
        self._loop = loop
        self._most = most
        self._parser = httptools.HttpRequestParser(self)
        self._waiting: deque[Exchange] = deque()  # requests that came before the one before was answered
        self._url = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._in_head = 0  # bytes
        self._newest: Exchange | None = None
        self._now: Exchange | None = None  # the one that is being answered
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._stuck_since: float | None = None
        self._known: dict[Any, Any] = {}  # what the application has found out about whoever asks here
        self.asked = False
        self.since = loop.time()  # it says nothing, or is at a header
        self.transport: asyncio.Transport = None  # type: ignore[assignment]
        self.client: tuple[str, int] | None = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        peer = transport.get_extra_info("peername")
        self.client = (str(peer[0]), int(peer[1])) if isinstance(peer, tuple) else None
        others = self._state.connections
        if len(others) >= self._most and not self._make_room():
            self._refuse("busy", 503, "too many connections; ask again later")
        others.add(self)

    def _make_room(self) -> bool:
        """Of those that are in the middle of nothing: first who never asked, then who never showed a token, and of
        these whoever has been silent for the longest. A client of ours that finds its connection closed makes another.
        """
        idle = [one for one in self._state.connections if one.idle]
        if idle:
            min(idle, key=lambda one: (one.known_here, one.asked, one.since)).hang_up()
        return bool(idle)

    @property
    def known_here(self) -> bool:
        """Whether it showed a token, or came where none is needed."""
        return self._known.get("may") is not None

    @property
    def idle(self) -> bool:
        """Nothing is being done for it, or it does not read what it asked for without a token."""
        return self._now is None or (self._stuck_since is not None and not self.known_here)

    def connection_lost(self, error: Exception | None) -> None:
        self._state.connections.discard(self)
        for exchange in (self._now, *self._waiting):
            if exchange is not None:
                exchange.lost()
        self._waiting.clear()
        self._may_write.set()

    def hang_up(self) -> None:
        self._state.connections.discard(self)
        self.transport.abort()

    def overdue(self, now: float) -> bool:
        if self._stuck_since is not None:
            return now - self._stuck_since > READ_SECONDS
        if self._now is not None:
            return False
        limit = IDLE_SECONDS if self.asked and not self._in_head else HEAD_SECONDS
        return now - self.since > limit

    def tell(self, silent: Mapping[str, Refusal]) -> None:
        """`silent`: the queues that do not answer. Who hangs on one of them is told, and waits no longer."""
        exchange = self._now
        if exchange is not None and (refusal := silent.get(exchange.hangs_on() or "")) is not None:
            exchange.give_up(_refused(refusal.kind, refusal.status, str(refusal)))

    def shutdown(self) -> None:
        """The daemon stops: what is being answered is finished."""
        if self._now is None:
            self.transport.close()
        else:
            self._now.keeps = False

    # From the transport

    def data_received(self, data: bytes) -> None:
        if self._in_head == 0 and self._now is None:
            self.since = self._loop.time()
        self._in_head += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            if self._newest is not None:
                self._newest.keeps = False  # answered as what it is without the upgrade
        except httptools.HttpParserError:
            self._refuse("bad-input", 400, "this is no HTTP request")
            return
        if self._in_head > MOST_HEAD_BYTES and not self.transport.is_closing():
            self._refuse("bad-input", 400, f"the header is larger than {MOST_HEAD_BYTES} bytes; send less")

    def pause_writing(self) -> None:
        self._stuck_since = self._loop.time()
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._stuck_since = None
        self._may_write.set()

    async def written(self) -> None:
        if not self._may_write.is_set():
            await self._may_write.wait()

    def _refuse(self, kind: str, status: int, why: str) -> None:
        if self._now is None:
            self.transport.write(_refused(kind, status, why))
        self.transport.close()

    # From the parser

    def on_message_begin(self) -> None:
        self._url, self._headers = b"", []

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        self._in_head = 0
        self.asked = True
        url = self._url
        if url[:1] != b"/":
            parsed = httptools.parse_url(url)
            url = (parsed.path or b"/") + (b"?" + parsed.query if parsed.query else b"")
        path, _, query = url.partition(b"?")
        scope: dict[str, Any] = {
            "type": "http",
            "method": self._parser.get_method().decode("ascii"),
            "path": path.decode("latin-1"),
            "raw_path": path,
            "query_string": query,
            "headers": self._headers,
            "client": self.client,
            "known": self._known,
        }
        keeps = self._parser.should_keep_alive() and not self._parser.should_upgrade()
        self._newest = Exchange(self, scope, keeps)
        scope["here"] = self._newest.here
        if self._now is None:
            self._begin(self._newest)
        else:
            self.transport.pause_reading()
            self._waiting.append(self._newest)

    def on_body(self, body: bytes) -> None:
        self._in_head = 0
        if self._newest is not None and self._newest.more(body) > _MOST_WAITING_BYTES:
            self.transport.pause_reading()

    def on_message_complete(self) -> None:
        self._in_head = 0
        if self._newest is not None:
            self._newest.whole()

    # Exchanges, one after another

    def _begin(self, exchange: "Exchange") -> None:
        self._now = exchange
        task = self._loop.create_task(exchange.run(self._app))
        self._state.tasks.add(task)
        task.add_done_callback(self._state.tasks.discard)

    def ended(self, exchange: "Exchange") -> None:
        if self._now is not exchange:
            return
        self._now = None
        self._state.total_requests += 1
        self.since = self._loop.time()
        if self.transport.is_closing():
            return
        if not exchange.keeps:
            self.transport.close()
        elif self._waiting:
            self._begin(self._waiting.popleft())
        else:
            self.transport.resume_reading()


def _refused(kind: str, status: int, why: str) -> bytes:
    body = dump({"error": {"kind": kind, "message": why}})
    head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(body)
    return STATUS[status] + head + body
