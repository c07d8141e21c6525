"""Whoever is to work on a folder looks first at what is known of it: once, when the queue is opened for that."""

from __future__ import annotations

import os

from dibs.cli.exits import CommandError
from dibs.mounts import is_local
from dibs.queues import split_url
from dibs.queues.files.advice import NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dibs.queues.queue import Queue

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
        raise CommandError(found.refusal, f"{found.remedy}, or --trust-place to work here anyway")
    if found.hint and hints:
        from dibs.cli.output import warn

        warn(found.hint)


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
