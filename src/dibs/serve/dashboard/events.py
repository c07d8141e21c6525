"""What is new, as server-sent events: one when somebody begins to watch, and one whenever a look found a difference."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

from dibs.serve.reply import Send
from dibs.serve.request import Request

BEAT_SECONDS = 15.0
SEND_SECONDS = 30.0
_HEAD = {
    "type": "http.response.start",
    "status": 200,
    "headers": [
        (b"content-type", b"text/event-stream"),
        (b"cache-control", b"no-store"),
        (b"x-accel-buffering", b"no"),
    ],
}


class Watcher:
    """Of what there is to tell, only the newest word of each queue is kept: one who reads slowly misses nothing."""

    def __init__(self) -> None:
        self._news: dict[str, bytes] = {}
        self._told = asyncio.Event()
        self._over = False

    def tell(self, name: str, data: bytes) -> None:
        self._news[name] = data
        self._told.set()

    def stop(self) -> None:
        self._over = True
        self._told.set()

    async def events(self) -> AsyncGenerator[bytes, None]:
        while not self._over:
            try:
                await asyncio.wait_for(self._told.wait(), BEAT_SECONDS)
            except TimeoutError:
                yield b":\n\n"  # still here
                continue
            self._told.clear()
            news, self._news = self._news, {}
            for data in news.values():
                yield b"event: queue\ndata: " + data + b"\n\n"


async def stream(watcher: Watcher, request: Request, send: Send) -> None:
    """Until either side ends it."""
    await send(_HEAD)

    async def speak() -> None:
        async with aclosing(watcher.events()) as events:
            async for event in events:
                async with asyncio.timeout(SEND_SECONDS):  # one that reads nothing is as good as gone
                    await send({"type": "http.response.body", "body": event, "more_body": True})

    both = {asyncio.ensure_future(speak()), asyncio.ensure_future(request.hung_up())}
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in both:
            task.cancel()
            with suppress(asyncio.CancelledError, TimeoutError, OSError):
                await task
    with suppress(OSError):
        await send({"type": "http.response.body", "body": b"", "more_body": False})
