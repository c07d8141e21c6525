"""The folder that a URL means."""

import os

from dibs.errors import BadInput
from dibs.queues import split_url
from dibs.redact import redact


def folder_of(url: str) -> str:
    """Where a queue of files does its compare-and-set: its own folder, or that of its leases or locks."""
    scheme, _, _ = split_url(url)
    path, given = named(url), settings(url)
    if scheme == "dir":
        path = given.get("leases") or f"{path.rstrip('/')}.leases"
    elif scheme == "specs":
        path = given.get("locks") or path
    return os.path.abspath(path)


def named(url: str) -> str:
    """The folder that stands in it."""
    scheme, path, _ = split_url(url)
    path = path.removeprefix("//") if scheme == "lmdb" else path
    path = path or (".dibs/specs" if scheme == "specs" else "")
    if not path:
        raise BadInput(f"{redact(url)!r} names no folder; write {scheme}:PATH")
    return os.path.abspath(path)


def settings(url: str) -> dict[str, str]:
    query = split_url(url)[2]
    if not query:
        return {}
    from urllib.parse import parse_qsl  # slow to load, and most URLs have no query

    return dict(parse_qsl(query, keep_blank_values=True))
