"""From a request to an answer: an ASGI application. Whatever is asked, the answer is JSON and never a traceback."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, suppress
from typing import Any
from urllib.parse import parse_qs, unquote

from dibs import __version__
from dibs.clock import SYSTEM, Clock
from dibs.errors import DibsError
from dibs.queues.remote.wire import ATTEMPT_HEADER, KEY_HEADER, dump
from dibs.serve import handlers
from dibs.serve.asked import checked, checked_query
from dibs.serve.counter import THREADS, Counter
from dibs.serve.desk import Desk
from dibs.serve.gatehouse import Gatehouse
from dibs.serve.openapi import describe
from dibs.serve.refusal import Gone, Refusal, answer_of
from dibs.serve.remembered import Answer, Remembered
from dibs.serve.routes import Route, Table
from dibs.serve.sessions import GRACE_SECONDS
from dibs.task import decode

Send = Callable[[dict[str, Any]], Awaitable[None]]
SEND_SECONDS = 30.0
_MOST_KEY = 200


class House:
    """The queues that are served, whichever door a request comes in by."""

    def __init__(
        self,
        desks: Iterable[Desk],
        *,
        grace: float = GRACE_SECONDS,
        clock: Clock = SYSTEM,
        log: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.pool = ThreadPoolExecutor(THREADS, thread_name_prefix="dibs-serve")
        self.counters = {desk.name: Counter(desk, self.pool, grace) for desk in desks}
        self.remembered = Remembered(clock)
        self.log = log
        self.stopping = False

    def stop(self) -> None:
        """Whoever waits is told to ask again; sessions end without anything being given back."""
        self.stopping = True
        for counter in self.counters.values():
            counter.stop()

    def close(self) -> None:
        self.pool.shutdown()
        for counter in self.counters.values():
            counter.desk.close()


class Door:
    """One way in: TCP, or a Unix socket."""

    def __init__(self, house: House, gatehouse: Gatehouse) -> None:
        self._house = house
        self._gatehouse = gatehouse
        self._table = Table()
        self._description = dump(describe(__version__))

    async def __call__(self, scope: dict[str, Any], receive: Callable[[], Awaitable[Any]], send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        try:
            status, body = await self._answer(request, send)
        except Gone:
            return
        except Exception as error:
            if not isinstance(error, DibsError | Refusal):
                self._house.log(f"{request.method} {scope['path']}: internal error: {error!r}")
            status, answer = answer_of(error)
            body = dump(answer)
        if status:
            await _send(send, status, body)

    async def _answer(self, request: "Request", send: Send) -> Answer:
        self._gatehouse.admit(request.headers, request.method)
        parts = request.parts
        if parts in (["healthz"], ["v1", "openapi.json"], ["v1", "queues"]):
            if request.method != "GET":
                raise Refusal("no-method", f"{request.method} is not possible here; use GET")
            if parts == ["healthz"]:
                return 200, dump({"ok": True, "version": __version__})
            if parts[-1] == "openapi.json":
                return 200, self._description
            return 200, dump({"queues": sorted(self._house.counters)})
        if parts[:2] != ["v1", "queues"]:
            raise Refusal("no-route", f"there is no {request.path[:80]!r} here; /v1/openapi.json says what there is")
        counter = self._house.counters.get(parts[2])
        if counter is None:
            served = ", ".join(sorted(self._house.counters))
            raise Refusal("no-queue", f"queue {parts[2][:80]!r} is not served here; served: {served}")
        routes, ref = self._table.find(parts[3:])
        if not routes:
            raise Refusal("no-route", f"there is no {request.path[:80]!r} here; /v1/openapi.json says what there is")
        route = routes.get(request.method)
        if route is None:
            raise Refusal("no-method", f"{request.method} is not possible here; use {' or '.join(sorted(routes))}")
        if self._house.stopping:
            raise Refusal("stopping", "the daemon is stopping; ask again")
        return await self._route(route, counter, ref, request, send)

    async def _route(self, route: Route, counter: Counter, ref: str, request: "Request", send: Send) -> Answer:
        query = checked_query(route.query, request.query)
        if route.raw:
            await self._stream(counter, query["worker"], request, send)
            return 0, b""
        body = await self._gatehouse.body(request.headers, request.receive)
        call = handlers.Call(counter, ref, query, repeat=request.attempt > 1, hung_up=request.hung_up)

        async def act() -> Answer:
            try:
                if route.method == "POST":
                    call.given = checked(route.body, _decoded(request.headers, body))
                return 200, dump(await getattr(handlers, route.name)(call))
            except (DibsError, Refusal) as error:
                status, answer = answer_of(error)
                return status, dump(answer)

        key = request.headers.get(KEY_HEADER.lower(), "")
        if not route.kept or not key:
            return await act()
        if len(key) > _MOST_KEY:
            raise Refusal("bad-input", f"{KEY_HEADER} has {len(key)} characters; use at most {_MOST_KEY}")
        return await self._house.remembered.once(f"{counter.desk.name} {route.name} {ref} {key}", act)

    async def _stream(self, counter: Counter, worker: str, request: "Request", send: Send) -> None:
        if counter.sessions.full:
            raise Refusal("busy", "too many worker sessions are open; ask again later")
        if not worker or len(worker) > _MOST_KEY:
            raise Refusal("bad-input", f"worker is not acceptable; use 1 to {_MOST_KEY} characters")
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})

        async def speak() -> None:
            async with aclosing(counter.sessions.hold(worker)) as lines:
                async for line in lines:
                    async with asyncio.timeout(SEND_SECONDS):  # a client that reads nothing is as good as gone
                        await send({"type": "http.response.body", "body": line, "more_body": True})

        speaking = asyncio.ensure_future(speak())
        gone = asyncio.ensure_future(request.hung_up())
        await asyncio.wait({speaking, gone}, return_when=asyncio.FIRST_COMPLETED)
        for task in (speaking, gone):
            task.cancel()
            with suppress(asyncio.CancelledError, TimeoutError, OSError):
                await task
        with suppress(OSError):
            await send({"type": "http.response.body", "body": b"", "more_body": False})


class Request:
    def __init__(self, scope: dict[str, Any], receive: Callable[[], Awaitable[Any]]) -> None:
        self.method: str = scope["method"]
        self.receive = receive
        raw: bytes = scope.get("raw_path") or scope["path"].encode()
        self.path = raw.partition(b"?")[0].decode("latin-1")
        self.parts = [unquote(part, errors="replace") for part in self.path.split("/")[1:]]
        self.headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        self._query: bytes = scope.get("query_string", b"")

    @property
    def query(self) -> dict[str, list[str]]:
        try:
            return parse_qs(self._query.decode("latin-1"), keep_blank_values=True, max_num_fields=100)
        except ValueError:
            raise Refusal("bad-input", "the URL has too many settings; give at most 100") from None

    @property
    def attempt(self) -> int:
        text = self.headers.get(ATTEMPT_HEADER.lower(), "1")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 1

    async def hung_up(self) -> None:
        while (await self.receive())["type"] != "http.disconnect":
            pass


def _decoded(headers: dict[str, str], body: bytes) -> Any:
    if not body:
        return {}
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refusal("no-json", f"content type {kind[:80]!r} is not accepted; send application/json")
    return decode(body)


async def _send(send: Send, status: int, body: bytes) -> None:
    headers = [
        (b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"),
    ]  # fmt: skip
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if status in (408, 413):  # what is left of the body is not waited for
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
