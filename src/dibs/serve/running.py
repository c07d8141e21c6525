"""Sockets, start and stop. A first signal finishes what was begun; a second ends it at once."""

import asyncio
import os
import signal
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from dibs.errors import BadInput, MissingExtra, StorageError
from dibs.queues.remote.wire import PORT
from dibs.serve.app import Door
from dibs.serve.house import House

MOST_CONNECTIONS = 4000
_OTHER_FILES = 200  # of the queues, for what is not a connection
_LOOK_SECONDS = 1.0
STOP_SECONDS = 10
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def require() -> None:
    from importlib.util import find_spec

    for name in ("uvicorn", "httptools"):
        if find_spec(name) is None:
            raise MissingExtra(f"dibs serve needs {name}, which is not installed; pip install 'dibs[serve]'")


def split_listen(text: str) -> tuple[str, int]:
    """HOST:PORT, HOST, or :PORT; an IPv6 address stands in brackets."""
    host, colon, port = text.rpartition(":") if not text.endswith("]") else (text, "", "")
    if not colon:
        host, port = text, str(PORT)
    if not (port.isascii() and port.isdigit() and int(port) < 65536):
        raise BadInput(f"address {text!r} is not acceptable; write HOST:PORT, for example 127.0.0.1:{PORT}")
    return host.strip("[]") or "127.0.0.1", int(port)


def listen_tcp(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise StorageError(f"cannot listen on {host}: {error.strerror}; give an address of this host") from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(2048)
    except OSError as error:
        listening.close()
        raise StorageError(
            f"cannot listen on {host}:{port}: {error.strerror}; is a daemon running? else use --listen HOST:PORT"
        ) from None
    return listening


def listen_unix(path: str) -> socket.socket:
    """Nobody but its owner can connect, from the first moment on. A socket that a dead daemon left is replaced."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        _remove_dead(path)
        listening.bind(path)
        listening.listen(2048)
    except OSError as error:
        listening.close()
        raise StorageError(
            f"cannot make the socket {path}: {error.strerror or error}; use --socket PATH, or --socket none"
        ) from None
    finally:
        os.umask(before)
    return listening


def _remove_dead(path: str) -> None:
    try:
        if not stat.S_ISSOCK(os.stat(path).st_mode):
            return
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        try:
            other.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)


class Running:
    """A daemon in the making. `doors`: each with the socket that leads to it."""

    def __init__(self, house: House, doors: list[tuple[Door, socket.socket]]) -> None:
        require()
        self._house = house
        self._servers = [(_server(door), listening) for door, listening in doors]
        self._signals = 0

    @property
    def started(self) -> bool:
        return all(server.started for server, _ in self._servers)

    async def serve(self, ready: Callable[[], None] = lambda: None) -> None:
        """Until `stop`."""
        await self._house.start()
        serving = [asyncio.ensure_future(server.serve(sockets=[own])) for server, own in self._servers]
        looking = [asyncio.ensure_future(_look_after(server, self._house)) for server, _ in self._servers]
        try:
            while not self.started and not any(task.done() for task in serving):
                await asyncio.sleep(0.005)
            ready()
            await asyncio.gather(*serving)
        finally:
            for look in looking:
                look.cancel()
            self._house.stop()
            self._house.close()

    def stop(self) -> None:
        """From the event loop's own thread. Called twice, nothing is waited for."""
        self._signals += 1
        self._house.stop()
        for server, _ in self._servers:
            server.should_exit = True
            server.force_exit = self._signals > 1

    def catch_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)


def _server(door: Door) -> Any:
    import uvicorn

    from dibs.serve.connection import Connection

    most = _most_connections()

    def protocol(*, server_state: Any, _loop: asyncio.AbstractEventLoop | None = None, **_: Any) -> Connection:
        return Connection(door, server_state, _loop or asyncio.get_running_loop(), most)

    class Server(uvicorn.Server):
        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield  # they are caught once for all servers of the daemon

    config = uvicorn.Config(
        door,
        http=protocol,  # type: ignore[arg-type]  # all it does is to call it
        interface="asgi3",
        ws="none",
        lifespan="off",
        log_config=None,
        proxy_headers=False,
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    return Server(config)


def _most_connections() -> int:
    """As many as the system allows files to be open, up to MOST_CONNECTIONS."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + _OTHER_FILES
    if soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return max(min(MOST_CONNECTIONS, soft - _OTHER_FILES), 50)


async def _look_after(server: Any, house: House) -> None:
    """One look at all connections now and then, instead of a timer for each request: the silent are hung up on, and who
    hangs on a queue that does not answer is told."""
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        now = loop.time()
        for connection in [one for one in server.server_state.connections if one.overdue(now)]:
            connection.hang_up()
        if silent := house.silent():
            for connection in list(server.server_state.connections):
                connection.tell(silent)


def remove_socket(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)
