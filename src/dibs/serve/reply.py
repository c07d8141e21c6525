"""What goes back to a client."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

Send = Callable[[dict[str, Any]], Awaitable[None]]
JSON = "application/json"


class Reply(NamedTuple):
    status: int
    body: bytes
    kind: str = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()

    async def send(self, send: Send) -> None:
        headers = [
            (b"content-type", self.kind.encode()), (b"content-length", str(len(self.body)).encode()),
            (b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"), *self.headers,
        ]  # fmt: skip
        if self.status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        if self.status in (408, 413):  # what is left of the body is not waited for
            headers.append((b"connection", b"close"))
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})
