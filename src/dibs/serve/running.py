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

HEAD_SECONDS = 15.0  # within which a connection must have asked something
IDLE_SECONDS = 75
MOST_CONNECTIONS = 4000
STOP_SECONDS = 10
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def require() -> None:
    from importlib.util import find_spec

    if find_spec("uvicorn") is None:
        raise MissingExtra("dibs serve needs uvicorn, which is not installed; pip install 'dibs[serve]'")


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
        try:
            while not self.started and not any(task.done() for task in serving):
                await asyncio.sleep(0.005)
            ready()
            await asyncio.gather(*serving)
        finally:
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
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Protocol(H11Protocol):
        """Hangs up on who connects and asks nothing."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.loop.call_later(HEAD_SECONDS, self._hang_up)

        def _hang_up(self) -> None:
            if self.cycle is None and not self.transport.is_closing():
                self.transport.close()

    class Server(uvicorn.Server):
        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield  # they are caught once for all servers of the daemon

    config = uvicorn.Config(
        door,
        http=Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    return Server(config)


def remove_socket(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)
