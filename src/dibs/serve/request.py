"""What a client asks, as it came in."""

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs, unquote

from dibs.queues.remote.wire import ATTEMPT_HEADER
from dibs.serve.refusal import Refusal


class Request:
    def __init__(self, scope: dict[str, Any], receive: Callable[[], Awaitable[Any]]) -> None:
        self.method: str = scope["method"]
        self.route = "none"  # as it is found
        self._scope = scope
        self.receive = receive
        raw: bytes = scope.get("raw_path") or scope["path"].encode()
        self.path = raw.partition(b"?")[0].decode("latin-1")
        self.parts = self.path.split("/")[1:]
        if "%" in self.path:
            self.parts = [unquote(part, errors="replace") for part in self.parts]
        self.headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        self._query: bytes = scope.get("query_string", b"")
        self.known: dict[Any, Any] = scope.get("known", {})  # about this connection
        self.here: Callable[[], bytes | None] = scope.get("here", lambda: None)
        self.client: str = scope["client"][0] if scope.get("client") else ""

    @property
    def queue(self) -> str:
        """The one that is asked for, once that is known."""
        named: str = self._scope.get("queue", "")
        return named

    @queue.setter
    def queue(self, name: str) -> None:
        self._scope["queue"] = name

    @property
    def query(self) -> dict[str, list[str]]:
        if not self._query:
            return {}
        try:
            return parse_qs(self._query.decode("latin-1"), keep_blank_values=True, max_num_fields=100)
        except ValueError:
            raise Refusal("bad-input", "the URL has too many settings; give at most 100") from None

    @property
    def only_looks(self) -> bool:
        """Whether its token may do no more."""
        return (self.known.get("may") or ("",))[0] == "read"

    @property
    def attempt(self) -> int:
        text = self.headers.get(ATTEMPT_HEADER.lower(), "0")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0

    async def hung_up(self) -> None:
        """Whoever waits for this is in no hurry to answer."""
        self._scope["waits"] = True
        while (await self.receive())["type"] != "http.disconnect":
            pass
