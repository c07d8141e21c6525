"""One server of a kind for all processes of a test run: the first that asks starts it, the last that leaves ends it."""

import fcntl
import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from children import command, environment
from servers.server import Server

START_SECONDS = 240.0
_keepers: list["subprocess.Popen[bytes]"] = []  # never waited for: they outlive whoever started them


@contextmanager
def use(kind: str, folder: Path) -> Iterator[Server]:
    """`folder` is the run's own, the same for all its processes."""
    place = folder / kind
    place.mkdir(parents=True, exist_ok=True)
    users = os.open(place / "users", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        with _alone(place / "start"):
            fcntl.flock(users, fcntl.LOCK_SH)  # waits for a server that is just ending
            if not kept(place):
                _start(kind, place)
            server = Server(**json.loads((place / "server").read_text()))
        yield server
    finally:
        os.close(users)


def kept(place: Path) -> bool:
    """There is a keeper, and it has a server."""
    keeper = os.open(place / "keeper", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(keeper, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return (place / "server").exists()
    finally:
        os.close(keeper)
    return False


def _start(kind: str, place: Path) -> None:
    (place / "server").unlink(missing_ok=True)
    with (place / "log").open("ab") as log:
        keeper = subprocess.Popen(
            command("servers.keeper", kind, str(place)),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment(),
            start_new_session=True,
        )
    _keepers.append(keeper)
    deadline = time.monotonic() + START_SECONDS
    while not (place / "server").exists():
        if keeper.poll() is not None or time.monotonic() > deadline:
            keeper.terminate()
            raise RuntimeError(f"the {kind} server did not start:\n{(place / 'log').read_text()[-3000:]}")
        time.sleep(0.02)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
