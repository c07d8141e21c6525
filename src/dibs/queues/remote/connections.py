"""Asking the daemon: one kept connection a thread, made again when it is lost.

A request that changes something carries a key, the same each time it is sent again, and the number of the attempt:
the daemon does it once (see `remembered` and `settling` of `dibs.serve`). So a lost answer costs time and nothing else.
A daemon that says it is busy, or for how long to wait, is asked again then.
"""

import http.client
import os
import socket
import threading
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from dibs.clock import Clock
from dibs.errors import BadInput, DibsError, StorageError
from dibs.patience import Patience
from dibs.queues.remote import wire
from dibs.queues.remote.address import Address
from dibs.queues.remote.line import Answer, Line, connection
from dibs.task import decode

_LOST = (OSError, http.client.HTTPException)
_AGAIN = ("busy", "stopping")
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")  # what is said to us is no TLS
_OPENING_SECONDS = 2.0
_LONGEST_PAUSE = 5.0  # whatever the daemon says: it may have changed its mind
SOON_SECONDS = 3.0


class Connections:
    """Safe to use from several threads, and in a forked child."""

    def __init__(self, address: Address, clock: Clock) -> None:
        self.address = address
        self._clock = clock
        self._head = f"HTTP/1.1\r\nHost: {address.named}\r\n{_bearer(address)}".encode()
        self._mine = threading.local()
        self._all: set[Line] = set()
        self._polling: set[Line] = set()
        self.roused = 0  # how often
        self._lock = threading.Lock()
        self._pid = os.getpid()

    def get(self, path: str, **query: Any) -> Any:
        given = "&".join(
            f"{name}={_quoted(str(item))}"
            for name, value in query.items()
            for item in (value if isinstance(value, list | tuple) else (value,))
            if item is not None
        )
        return self._ask(self._asking("GET", f"{path}?{given}" if given else path), self.address.patience)

    def post(self, path: str, body: Any = None) -> Any:
        return self._ask(self._posting(path, wire.dump(body or {})), self.address.patience)

    def first(self, path: str, patience: float) -> Any:
        """The request that opens the queue: whoever opens it wants to know soon that nobody is there."""
        return self._ask(self._asking("GET", path), min(patience, self.address.patience))

    def queues(self) -> list[str]:
        """The names of all that the daemon serves."""
        found: list[str] = self._ask((b"GET /v1/queues " + self._head, b""), _OPENING_SECONDS)["queues"]
        return found

    def nothing(self) -> None:
        """Whether the daemon answers at all."""
        self._send(b"GET /healthz " + self._head + b"\r\n")

    def soon(self, path: str, body: Any = None) -> Any:
        """As `post`, but once and without patience: for last words. None when they were not heard."""
        return self._once(self._posting(path, wire.dump(body or {})))

    def poll(self, path: str, body: dict[str, Any], seconds: float, roused: int) -> Any:
        """A claim that the daemon may keep waiting, on a connection of its own. `roused` is what the counter of that
        name said before the look that found nothing: whoever has been roused since does not wait. None when
        nothing was claimed, or that cannot be known soon."""
        key = os.urandom(12).hex()
        again = self._posting(path, wire.dump(body), key)
        self._own()
        line: Line | None = None
        try:
            line = Line(self.address, self.address.timeout + seconds)
            with self._lock:
                if roused != self.roused:
                    return None
                self._polling.add(line)
            answer = line.exchange(self._numbered(self._posting(path, wire.dump({**body, "wait": seconds}), key), 1))
        except _LOST:
            return self._settled(again, roused)
        finally:
            if line is not None:
                with self._lock:
                    self._polling.discard(line)
                line.close()
        found = self._decoded(answer)
        if answer.status >= 400:
            kind, error = wire.error_of(found, answer.status)
            if kind not in _AGAIN:
                raise error
            return self._settled(again, roused)
        return found

    def _settled(self, again: tuple[bytes, bytes], roused: int) -> Any:
        """What a wait that broke off has brought. Hanging up may come too late to prevent that it has: asked with the
        same key, the daemon says so. Who was roused has no time for a daemon that is gone."""
        if roused != self.roused:
            return self._once(again, attempt=2)
        return self._ask(again, self.address.patience, attempt=2)

    def rouse(self) -> None:
        """Whoever waits for a claim, or looked for one before and is about to wait, looks again at once."""
        self._own()
        with self._lock:
            self.roused += 1
            for line in self._polling:
                line.hang_up()

    # Requests: their bytes, but for what changes when they are sent again

    def _asking(self, method: str, path: str) -> tuple[bytes, bytes]:
        return f"{method} {self.address.base}{path} ".encode() + self._head, b""

    def _posting(self, path: str, body: bytes, key: str | None = None) -> tuple[bytes, bytes]:
        if len(body) > wire.MOST_BYTES:
            raise BadInput(wire.too_large(wire.MOST_BYTES))
        head, _ = self._asking("POST", path)
        more = (
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
            f"{wire.KEY_HEADER}: {key or os.urandom(12).hex()}\r\n"
        )
        return head + more.encode(), body

    def _numbered(self, request: tuple[bytes, bytes], attempt: int) -> bytes:
        head, body = request
        return b"%s%s: %d\r\n\r\n%s" % (head, wire.ATTEMPT_HEADER.encode(), attempt, body)

    def _ask(self, request: tuple[bytes, bytes], patience: float, attempt: int = 1) -> Any:
        waiting = Patience(self._clock)
        while True:
            pause: float | None = None
            try:
                answer = self._send(self._numbered(request, attempt))
                found = self._decoded(answer)
                if answer.status < 400:
                    return found
                kind, error = wire.error_of(found, answer.status)
                if kind == "unauthorized" and self.address.kept_in:
                    error = StorageError(f"{error}; the one that was sent is in {self.address.kept_in}")
                if kind not in _AGAIN:
                    raise error
                pause = answer.retry_after
            except _LOST as lost:
                self._drop()
                kept = self._kept_alive()
                self._mine.used = False
                if kept:
                    attempt += 1
                    continue  # it was closed while it was idle: a new one is tried at once
                error = self._unreachable(lost)
            if waiting.spent_on("an answer") >= patience:
                raise error
            attempt += 1
            if pause is None:
                waiting.wait()
            else:
                self._clock.sleep(min(pause, _LONGEST_PAUSE))

    def _once(self, request: tuple[bytes, bytes], attempt: int = 1) -> Any:
        """On a connection of its own, since others have more time."""
        with suppress(*_LOST, DibsError):
            line = Line(self.address, min(self.address.timeout, SOON_SECONDS))
            try:
                answer = line.exchange(self._numbered(request, attempt))
            finally:
                line.close()
            return self._decoded(answer) if answer.status < 400 else None
        return None

    def _send(self, request: bytes) -> Answer:
        line = self._line()
        answer = line.exchange(request)
        self._mine.used = line.keeps
        if not line.keeps:
            self._drop()
        return answer

    def _decoded(self, answer: Answer) -> Any:
        try:
            return decode(answer.body) if answer.body else None
        except BadInput:
            raise StorageError(f"{self.address.where} does not answer as a dibs daemon does; check the URL") from None

    def _unreachable(self, lost: Exception) -> DibsError:
        if getattr(lost, "reason", "") in _NO_TLS:
            where = self.address.where
            return StorageError(f"{where} does not speak https; write {where.replace('https', 'http', 1)}/…")
        why = lost.strerror if isinstance(lost, OSError) and lost.strerror else str(lost) or type(lost).__name__
        return StorageError(f"no answer from the daemon at {self.address.where}: {why}; is `dibs serve` running?")

    # One connection a thread

    def stream(self, path: str, timeout: float) -> tuple[socket.socket, http.client.HTTPResponse]:
        """An answer that goes on, and the socket it comes by. Raises what the connection raises."""
        way = connection(self.address, timeout)
        identity = {"Authorization": f"Bearer {self.address.token}"} if self.address.token else {}
        try:
            way.request("GET", self.address.base + path, headers=identity)
            own = way.sock
            return own, way.getresponse()
        except BaseException:
            way.close()
            raise

    def _own(self) -> None:
        """A forked child must not speak on its parent's connections."""
        if self._pid != os.getpid():
            self._pid, self._mine, self._lock = os.getpid(), threading.local(), threading.Lock()
            self._all, self._polling = set(), set()

    def _line(self) -> Line:
        self._own()
        line: Line | None = getattr(self._mine, "line", None)
        if line is None:
            line = self._mine.line = Line(self.address, self.address.timeout)
            with self._lock:
                self._all.add(line)
        return line

    def _kept_alive(self) -> bool:
        return bool(getattr(self._mine, "used", False))

    def _drop(self) -> None:
        line: Line | None = getattr(self._mine, "line", None)
        self._mine.line = None
        if line is not None:
            with self._lock:
                self._all.discard(line)
            line.close()

    def close(self) -> None:
        """A later request makes a new one."""
        self._own()
        with self._lock:
            lines, self._all = self._all, set()
        for line in lines:
            line.close()
        self._mine = threading.local()


def _bearer(address: Address) -> str:
    return f"Authorization: Bearer {address.token}\r\n" if address.token else ""


def _quoted(text: str) -> str:
    try:
        return quote(text, safe="")
    except UnicodeEncodeError:
        raise BadInput(f"{text!r} is not valid Unicode") from None
