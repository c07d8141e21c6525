"""The work of `dibs demo`: wait a little, and write down each run, so that the files can be checked afterwards."""

import os
from typing import Any

from dibs.queues.held import Lease


def work(payload: dict[str, Any], lease: Lease) -> dict[str, Any]:
    note(payload["runs"], "began", lease)
    lease.queue.clock.sleep(payload["seconds"])
    note(payload["runs"], "finished", lease)
    return {"number": payload["number"], "by": os.getpid()}


def note(path: str, what: str, lease: Lease) -> None:
    """One line, appended whole."""
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        os.write(fd, f"{what} {lease.id} {lease.epoch} {os.getpid()}\n".encode())
    finally:
        os.close(fd)
