"""Who may come in. Every request passes here before anything else looks at it.

The Host must be one of ours (a page that rebinds its name to this address is not), the Origin, if there is one, the
same as the Host (no cross-site posts), the token right, the body small enough and quickly there. A Unix socket needs
no token: its file mode says who may.
"""

import asyncio
import ipaddress
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from dibs.serve.refusal import Gone, Refusal
from dibs.serve.tokens import Tokens

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
MOST_BYTES = 64 * 1024 * 1024
BODY_SECONDS = 30.0
Receive = Callable[[], Awaitable[Any]]


class Gatehouse:
    def __init__(
        self,
        tokens: Tokens | None,
        hosts: Iterable[str] = (),
        *,
        any_address: bool = False,
        most_bytes: int = MOST_BYTES,
        body_seconds: float = BODY_SECONDS,
    ) -> None:
        """`tokens`: None on a Unix socket. `any_address`: it listens on all addresses, so any of them may be named."""
        self._tokens = tokens
        self._hosts = {*LOOPBACK, *(host.lower() for host in hosts)}
        self._any_address = any_address
        self._most_bytes = most_bytes
        self._body_seconds = body_seconds

    def admit(self, headers: dict[str, str], method: str, *, open: bool = False) -> None:  # noqa: A002
        """Raises a Refusal. `open`: what is asked for shows nothing, so no token is needed."""
        host = headers.get("host", "").lower()
        if not self._ours(host):
            raise Refusal("forbidden", f"host {host[:80]!r} is not served here; use the daemon's own address")
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in (f"http://{host}", f"https://{host}"):
            raise Refusal("forbidden", f"requests from {origin[:80]!r} are refused; ask from the daemon's own pages")
        if self._tokens is not None and not open:
            self._check_token(self._tokens, headers.get("authorization", ""), method)

    def _check_token(self, tokens: Tokens, given: str, method: str) -> None:
        scheme, _, token = given.partition(" ")
        allowed = tokens.allows(token.strip()) if scheme.lower() == "bearer" else None
        if allowed is None:
            what = "the token is wrong" if given else "a token is needed"
            raise Refusal("unauthorized", f"{what}; set DIBS_TOKEN to the one in the daemon's token file")
        if allowed == "read" and method not in ("GET", "HEAD"):
            raise Refusal("forbidden", "this token may only look; use the first one in the daemon's token file")

    def _ours(self, host: str) -> bool:
        name = host.rpartition(":")[0] if not host.endswith("]") and host.rpartition(":")[2].isdigit() else host
        if name in self._hosts:
            return True
        if not self._any_address:
            return False
        try:
            ipaddress.ip_address(name.strip("[]"))
            return True
        except ValueError:
            return False

    async def body(self, headers: dict[str, str], receive: Receive) -> bytes:
        declared = headers.get("content-length", "0")
        if declared.isdigit() and int(declared) > self._most_bytes:
            raise self._too_large()
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Gone
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > self._most_bytes:
                        raise self._too_large()
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            raise Refusal("too-slow", f"the body did not arrive within {self._body_seconds:g} s") from None

    def _too_large(self) -> Refusal:
        return Refusal("too-large", f"the body is larger than {self._most_bytes} bytes; send less at a time")
