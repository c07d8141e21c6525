"""From a request to an answer: an ASGI application. Whatever is asked, the answer is JSON and never a traceback."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any

from dibs.errors import DibsError
from dibs.queues.remote.wire import KEY_HEADER, dump
from dibs.serve import handlers
from dibs.serve.asked import checked, checked_query
from dibs.serve.counter import Counter
from dibs.serve.gatehouse import Gatehouse
from dibs.serve.house import House
from dibs.serve.places import Places
from dibs.serve.refusal import Gone, Refusal, answer_of
from dibs.serve.remembered import Answer
from dibs.serve.reply import Reply, Send
from dibs.serve.request import Request
from dibs.serve.routes import Route, Table
from dibs.task import decode, is_id

SEND_SECONDS = 30.0
_MOST_KEY = 200


class Door:
    """One way in: TCP, or a Unix socket."""

    def __init__(self, house: House, gatehouse: Gatehouse) -> None:
        self._house = house
        self._gatehouse = gatehouse
        self._table = Table()
        self._places = Places()

    async def __call__(self, scope: dict[str, Any], receive: Callable[[], Awaitable[Any]], send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        began = self._house.clock.boottime()
        try:
            reply = await self._answer(request, send)
        except Gone:
            return
        except Exception as error:
            reply = self._refused(request, error)
        took = None
        if reply is not None:
            await reply.send(send)
            took = self._house.clock.boottime() - began
        self._tell(request, 200 if reply is None else reply.status, took)

    def _refused(self, request: Request, error: Exception) -> Reply:
        headers: tuple[tuple[bytes, bytes], ...] = ()
        if not isinstance(error, DibsError | Refusal):
            self._house.log(f"{request.method} {request.route}: internal error: {error!r}")
        elif isinstance(error, Refusal) and error.retry_after is not None:
            self._house.metrics.count("dibs_rate_limited_total")
            headers = ((b"retry-after", str(error.retry_after).encode()),)
        status, answer = answer_of(error)
        return Reply(status, dump(answer), headers=headers)

    def _tell(self, request: Request, status: int, took: float | None) -> None:
        self._house.metrics.asked(request.route, status, took)
        if self._house.log.debugs:
            milliseconds = None if took is None else round(took * 1000, 3)
            named = {"method": request.method, "route": request.route, "queue": request.queue or None}
            self._house.log.note("debug", "request", **named, status=status, ms=milliseconds, client=request.client)

    async def _answer(self, request: Request, send: Send) -> Reply | None:
        place = self._places.find(request.path)
        self._gatehouse.admit(request, open=place is not None and place.open)
        if place is not None:
            request.route = place.path
            if request.method != place.method and not (request.method == "HEAD" and place.open):
                raise Refusal("no-method", f"{request.method} is not possible here; use {place.method}")
            return await place.act(self._house, request, send)
        parts = request.parts
        if parts[:2] != ["v1", "queues"]:
            raise Refusal("no-route", f"there is no {request.path[:80]!r} here; /v1/openapi.json says what there is")
        counter = self._house.counters.get(parts[2]) or self._house.counter(parts[2])
        routes, ref = self._table.find(parts[3:])
        if not routes:
            raise Refusal("no-route", f"there is no {request.path[:80]!r} here; /v1/openapi.json says what there is")
        route = routes.get(request.method)
        if route is None:
            raise Refusal("no-method", f"{request.method} is not possible here; use {' or '.join(sorted(routes))}")
        request.route, request.queue = route.name, counter.desk.name
        if self._house.stopping:
            raise Refusal("stopping", "the daemon is stopping; ask again")
        if route.raw:
            await self._stream(counter, checked_query(route.query, request.query)["worker"], request, send)
            return None
        if counter.health.why and route.name != "leave":
            raise counter.health.refusal()
        return Reply(*await self._route(route, counter, ref, request))

    async def _route(self, route: Route, counter: Counter, ref: str, request: Request) -> Answer:
        query = checked_query(route.query, request.query)
        body = await self._gatehouse.body(request.headers, request.receive, request.here())
        call = handlers.Call(
            counter, ref, query, attempt=request.attempt, hung_up=request.hung_up, looks=request.only_looks
        )

        async def act() -> Answer:
            try:
                if route.method == "POST":
                    call.given = checked(route.body, _decoded(request.headers, body))
                found = await getattr(handlers, route.name)(call)
                self._count(route, call, found)
                return 200, found if isinstance(found, bytes) else dump(found)
            except (DibsError, Refusal) as error:
                status, answer = answer_of(error, counter.desk.name, counter.desk.queue.url)
                self._count_refused(route, call, answer["error"]["kind"])
                return status, dump(answer)

        key = request.headers.get(KEY_HEADER.lower(), "")
        if not route.kept or not key:
            return await act()
        if len(key) > _MOST_KEY:
            raise Refusal("bad-input", f"{KEY_HEADER} has {len(key)} characters; use at most {_MOST_KEY}")
        return await self._house.remembered.once(f"{counter.desk.name} {route.name} {ref} {key}", act)

    def _count(self, route: Route, call: handlers.Call, found: Any) -> None:
        if route.method != "POST":
            return
        metrics, queue = self._house.metrics, call.desk.name
        leases = found.get("leases")
        if leases is None:
            leases = [found["lease"]] if found.get("lease") else []
        outcome = "empty" if route.name == "claim" and not leases else "done"
        metrics.stepped(queue, route.name, outcome)
        if leases:
            metrics.claimed(queue, leases, max(call.desk.now() - call.received - found.get("waited", 0.0), 0.0))

    def _count_refused(self, route: Route, call: handlers.Call, kind: str) -> None:
        if route.method == "POST":
            self._house.metrics.stepped(call.desk.name, route.name, kind)
            task = call.ref if is_id(call.ref) else None
            self._house.log.note("info", "step refused", queue=call.desk.name, step=route.name, kind=kind, task=task)

    async def _stream(self, counter: Counter, worker: str, request: Request, send: Send) -> None:
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


def _decoded(headers: dict[str, str], body: bytes) -> Any:
    if not body:
        return {}
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refusal("no-json", f"content type {kind[:80]!r} is not accepted; send application/json")
    return decode(body)
