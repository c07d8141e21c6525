"""Whoever is to work on a folder looks at what is known of it: when the queue is opened, and workers now and then."""

from __future__ import annotations

import os

from dibs.cli.exits import CommandError
from dibs.mounts import is_local
from dibs.queues import split_url
from dibs.queues.files.advice import NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.doctor.trust import Trust
    from dibs.queues.queue import Queue

LOOK_SECONDS = 5.0
_FOLDERS = ("file", "dir", "specs")


def add_trust(parser: Any) -> None:
    parser.add_argument(
        "--trust-place", action="store_true", help="work here though it is known not to be safe, see `dibs doctor`"
    )


def check_place(url: str, queue: Queue, *, trusted: bool, hints: bool = False) -> None:
    """CommandError where the queue should not be worked on. `hints`: say what is worth a line."""
    if trusted or split_url(url)[0] not in _FOLDERS or (not hints and _is_plain(url)):
        return
    from dibs.doctor.trust import trust

    found = trust(url, queue.host, queue.store_time)
    if found.refusal:
        raise _refused(found)
    if found.hint and hints:
        from dibs.cli.output import warn

        warn(found.hint)


class Guard:
    """Looks again while a worker runs: when it started, another host may have waited for its first task as well."""

    def __init__(self, url: str, queue: Queue, *, trusted: bool) -> None:
        self._url, self._queue = url, queue
        self._due = queue.clock.boottime() + LOOK_SECONDS
        self._on = not trusted and split_url(url)[0] in _FOLDERS and not _is_plain(url)
        self.refusal: CommandError | None = None

    def look(self) -> str:
        """Why to leave, said once."""
        if not self._on or self._queue.clock.boottime() < self._due:
            return ""
        from dibs.doctor.trust import trust
        from dibs.errors import StorageError

        try:
            found = trust(self._url, self._queue.host, self._queue.store_time, at_work=True)
        except (OSError, StorageError):  # out of reach for a moment, which the workers notice themselves
            found = None
        self._due = self._queue.clock.boottime() + LOOK_SECONDS
        if found is None or not found.refusal:
            return ""
        self._on = False
        self.refusal = _refused(found)
        return found.refusal


def _refused(found: Trust) -> CommandError:
    return CommandError(found.refusal, f"{found.remedy}, or --trust-place to work here anyway")


def _is_plain(url: str) -> bool:
    """On a disk of this machine, and no doctor has left a note: then there is nothing to load for a single claim."""
    scheme, path, query = split_url(url)
    folder = os.path.abspath(f"{path.rstrip('/')}.leases" if scheme == "dir" else path)
    if query or scheme == "specs" or not is_local(folder):
        return False
    while not os.path.exists(f"{folder}/{NAME}"):
        above = os.path.dirname(folder)
        if above == folder:
            return True
        folder = above
    return False
