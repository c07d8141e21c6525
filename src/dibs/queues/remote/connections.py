"""Asking the daemon: one kept connection a thread, made again when it is lost.

A request that changes something carries a key, the same each time it is sent again, and the number of the attempt:
the daemon does it once (see `remembered` and `settling` of `dibs.serve`). So a lost answer costs time and nothing else.
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
from dibs.task import decode

_LOST = (OSError, http.client.HTTPException)
_AGAIN = ("busy", "stopping")


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        try:
            self.sock.connect(self._path)
        except OSError:
            self.sock.close()
            raise


class Connections:
    """Safe to use from several threads, and in a forked child."""

    def __init__(self, address: Address, clock: Clock) -> None:
        self.address = address
        self._clock = clock
        self._mine = threading.local()
        self._all: set[http.client.HTTPConnection] = set()
        self._polling: dict[http.client.HTTPConnection, bool] = {}  # true: told to stop
        self._lock = threading.Lock()
        self._pid = os.getpid()

    def get(self, path: str, **query: Any) -> Any:
        given = "&".join(
            f"{name}={_quoted(str(item))}"
            for name, value in query.items()
            for item in (value if isinstance(value, list | tuple) else (value,))
            if item is not None
        )
        return self._ask("GET", f"{path}?{given}" if given else path, None, {}, self.address.patience)

    def post(self, path: str, body: Any = None) -> Any:
        headers = {"Content-Type": "application/json", wire.KEY_HEADER: os.urandom(12).hex()}
        return self._ask("POST", path, wire.dump(body or {}), headers, self.address.patience)

    def first(self, path: str, patience: float) -> Any:
        """The request that opens the queue: whoever opens it wants to know soon that nobody is there."""
        return self._ask("GET", path, None, {}, min(patience, self.address.patience))

    def poll(self, path: str, body: dict[str, Any], seconds: float) -> Any:
        """A claim that the daemon may keep waiting; None when `rouse` ended it. On a connection of its own."""
        headers = {"Content-Type": "application/json", wire.KEY_HEADER: os.urandom(12).hex()}
        asked = wire.dump({**body, "wait": seconds})
        self._own()
        connection = self.new(self.address.timeout + seconds)
        with self._lock:
            self._polling[connection] = False
        try:
            connection.request("POST", self.address.base + path, body=asked, headers={**self._identity(), **headers})
            answer = connection.getresponse()
            status, found = answer.status, decode(answer.read())
        except _LOST:
            if self._polling[connection]:
                return None
            return self._ask("POST", path, wire.dump(body), headers, self.address.patience, attempt=2)
        finally:
            with self._lock:
                del self._polling[connection]
            connection.close()
        if status >= 400:
            kind, error = wire.error_of(found, status)
            if kind not in _AGAIN:
                raise error
            return self._ask("POST", path, wire.dump(body), headers, self.address.patience, attempt=2)
        return found

    def rouse(self) -> None:
        """Whoever waits for a claim looks again at once."""
        with self._lock:
            for connection in self._polling:
                self._polling[connection] = True
                if connection.sock is not None:
                    hang_up(connection.sock)

    def _ask(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str], patience: float, attempt: int = 1
    ) -> Any:
        waiting = Patience(self._clock)
        while True:
            if body is not None:
                headers[wire.ATTEMPT_HEADER] = str(attempt)
            try:
                status, answer = self._send(method, path, body, headers)
                if status < 400:
                    return answer
                kind, error = wire.error_of(answer, status)
                if kind not in _AGAIN:
                    raise error
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
            waiting.wait()

    def _send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, Any]:
        connection = self._connection()
        connection.request(method, self.address.base + path, body=body, headers={**self._identity(), **headers})
        answer = connection.getresponse()
        data = answer.read()
        self._mine.used = True
        try:
            return answer.status, decode(data) if data else None
        except BadInput:
            raise StorageError(f"{self.address.where} does not answer as a dibs daemon does; check the URL") from None

    def _identity(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.address.token}"} if self.address.token else {}

    def _unreachable(self, lost: Exception) -> DibsError:
        why = lost.strerror if isinstance(lost, OSError) and lost.strerror else str(lost) or type(lost).__name__
        return StorageError(f"no answer from the daemon at {self.address.where}: {why}; is `dibs serve` running?")

    # One connection a thread

    def new(self, timeout: float) -> http.client.HTTPConnection:
        """One that is not shared, for a stream."""
        if self.address.socket:
            return UnixConnection(self.address.socket, timeout)
        kind = http.client.HTTPSConnection if self.address.tls else http.client.HTTPConnection
        return kind(self.address.host, self.address.port, timeout=timeout)

    def stream(self, path: str, timeout: float) -> tuple[socket.socket, http.client.HTTPResponse]:
        """An answer that goes on, and the socket it comes by. Raises what the connection raises."""
        connection = self.new(timeout)
        try:
            connection.request("GET", self.address.base + path, headers=self._identity())
            own = connection.sock
            return own, connection.getresponse()
        except BaseException:
            connection.close()
            raise

    def _own(self) -> None:
        """A forked child must not speak on its parent's connections."""
        if self._pid != os.getpid():
            self._pid, self._mine, self._lock = os.getpid(), threading.local(), threading.Lock()
            self._all, self._polling = set(), {}

    def _connection(self) -> http.client.HTTPConnection:
        self._own()
        connection: http.client.HTTPConnection | None = getattr(self._mine, "connection", None)
        if connection is None:
            connection = self._mine.connection = self.new(self.address.timeout)
            with self._lock:
                self._all.add(connection)
        return connection

    def _kept_alive(self) -> bool:
        return bool(getattr(self._mine, "used", False))

    def _drop(self) -> None:
        connection = getattr(self._mine, "connection", None)
        self._mine.connection = None
        if connection is not None:
            with self._lock:
                self._all.discard(connection)
            connection.close()

    def close(self) -> None:
        """A later request makes a new one."""
        with self._lock:
            connections, self._all = self._all, set()
        for connection in connections:
            connection.close()
        self._mine = threading.local()


def hang_up(own: socket.socket) -> None:
    """Whoever reads from it is woken; closing would wait for them."""
    with suppress(OSError):
        own.shutdown(socket.SHUT_RDWR)


def _quoted(text: str) -> str:
    try:
        return quote(text, safe="")
    except UnicodeEncodeError:
        raise BadInput(f"{text!r} is not valid Unicode") from None
