"""Who may come in. Every request passes here before anything else looks at it.

The Host must be one of ours (a page that rebinds its name to this address is not), the Origin, if there is one, the
same as the Host (no cross-site posts), the token right, the body small enough and quickly there. A Unix socket needs
no token: its file mode says who may.
"""

import asyncio
import ipaddress
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from dibs.clock import SYSTEM, Clock
from dibs.queues.remote.wire import MOST_BYTES, too_large
from dibs.serve.limits import Limits
from dibs.serve.refusal import Gone, Refusal
from dibs.serve.request import Request
from dibs.serve.tokens import Tokens

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
BODY_SECONDS = 30.0
WRONG_RATE = 20.0  # wrong tokens a second from one address
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
        rate: float = 0.0,
        clock: Clock = SYSTEM,
    ) -> None:
        """`tokens`: None on a Unix socket. `any_address`: it listens on all addresses, so any of them may be named.
        `rate`: how many requests a second one token, or one address, may make; 0 for any number."""
        self._tokens = tokens
        self._hosts = {*LOOPBACK, *(host.lower() for host in hosts)}
        self._any_address = any_address
        self._most_bytes = most_bytes
        self._body_seconds = body_seconds
        self._limits = Limits(rate, clock)
        self._wrong = Limits(min(rate, WRONG_RATE), clock)

    def admit(self, request: Request, *, open: bool = False) -> None:  # noqa: A002
        """Raises a Refusal. `open`: what is asked for shows nothing, so no token is needed."""
        headers, known = request.headers, request.known
        self._limits.take(request.client)
        said = (headers.get("host"), headers.get("origin"), open or headers.get("authorization"))
        if known.get("said") != said:
            self._check_host(headers)
            known["may"] = None if open else self._check_token(headers.get("authorization", ""), request.client)
            known["said"] = said
        if not open and self._tokens is not None:
            self._limits.take(known["may"][1])
            if known["may"][0] == "read" and request.method not in ("GET", "HEAD"):
                raise Refusal("forbidden", "this token may only look; use the first one in the daemon's token file")

    def _check_host(self, headers: dict[str, str]) -> None:
        host = headers.get("host", "").lower()
        if not self._ours(host):
            raise Refusal("forbidden", f"host {host[:80]!r} is not served here; use the daemon's own address")
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in (f"http://{host}", f"https://{host}"):
            raise Refusal("forbidden", f"requests from {origin[:80]!r} are refused; ask from the daemon's own pages")

    def _check_token(self, given: str, client: str) -> tuple[str, str]:
        """(what it allows, whose share of the rate it uses)."""
        if self._tokens is None:
            return "write", ""
        scheme, _, token = given.partition(" ")
        allowed = self._tokens.allows(token.strip()) if scheme.lower() == "bearer" else None
        if allowed is None:
            self._wrong.take(client)
            what = "the token is wrong" if given else "a token is needed"
            raise Refusal("unauthorized", f"{what}; set DIBS_TOKEN to the one in the daemon's token file")
        return allowed, f"token {hash(token.strip())}"

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

    async def body(self, headers: dict[str, str], receive: Receive, here: bytes | None = None) -> bytes:
        """`here`: all of it, when it has come already."""
        declared = headers.get("content-length", "0")
        if declared.isdigit() and int(declared) > self._most_bytes:
            raise self._too_large()
        if here is not None:
            return here
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
        return Refusal("too-large", too_large(self._most_bytes))
