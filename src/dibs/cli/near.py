"""The daemon of a project, for commands that may ask it instead of the queue: `[daemon] enabled = true` in dibs.toml.

It is asked once, at the Unix socket (or the address) that dibs.toml gives it. When nobody is there, or somebody who
serves another queue under that name, the queue itself is opened and nothing is said: nobody needs a daemon.
"""

from __future__ import annotations

import os

from dibs.cli.exits import USAGE, CommandError
from dibs.cli.place import Place
from dibs.config import token_file
from dibs.errors import DibsError
from dibs.queues import split_url
from dibs.redact import redact

_PATHS = ("file", "dir", "lmdb", "specs")
_REMOTE = ("http", "https", "unix")
ANSWER_SECONDS = 5.0


def through(place: Place) -> Place:
    """The place behind the daemon that serves it; the place itself when none does."""
    if split_url(place.url)[0] in _REMOTE:
        return place
    try:
        url = _url(place)
        if url is None or not (mine := identity(place)) or _served(url) != mine:
            return place
    except (DibsError, OSError):
        return place
    return Place(url, place.name, place.config, ours=True)


def name_of(place: Place) -> str:
    """What a daemon calls it: its name in dibs.toml, or on its server, or the last part of its path."""
    if place.name is not None:
        return place.name
    _, path, query = split_url(place.url)
    named = [part.partition("=")[2] for part in query.split("&") if part.startswith("queue=")]
    name = named[0] if named else path.rstrip("/").rpartition("/")[2]
    if not name or not all(char.isalnum() or char in "._-" for char in name):
        raise CommandError(f"{redact(place.url)!r} has no name to serve it under", "name it in dibs.toml", USAGE)
    return name


def identity(place: Place) -> str:
    """Which queue it is, for two processes of one host to compare: another may be called the same, or lie at the same
    path in a container."""
    from hashlib import sha256

    scheme, path, _ = split_url(place.url)
    known = redact(place.url)
    if scheme in _PATHS:
        real = os.path.realpath(path)
        try:
            stat = os.stat(real)
        except OSError:
            return ""  # nobody serves what is not there
        known = f"{scheme}:{real} {stat.st_dev} {stat.st_ino}"
    elif scheme == "memory":
        known = f"{known} of {os.path.realpath(place.config.path or '.')}"
    return sha256(known.encode(errors="surrogateescape")).hexdigest()[:32]


def socket_path(given: str | None, token: str) -> str | None:
    """Where the Unix socket of a daemon is that was told so much; None when it has none."""
    if given == "none":
        return None
    if given is not None:
        return os.path.abspath(os.path.expanduser(given))
    return os.path.join(os.environ.get("XDG_RUNTIME_DIR") or os.path.dirname(token), "dibs.sock")


def token_path(given: str | None) -> str:
    """Where its token is kept."""
    return os.path.abspath(os.path.expanduser(given or token_file()))


def _url(place: Place) -> str | None:
    """Where its daemon would serve it; None when it is clear that there is none."""
    config, name = place.config, name_of(place)
    kept_in = token_path(config.daemon("token"))
    path = socket_path(config.daemon("socket"), kept_in)
    if path is not None:
        return f"unix:{path}/{name}" if os.path.exists(path) else None
    from dibs.serve.running import split_listen

    host, port = split_listen(config.daemon("listen"))
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    shown = f"[{host}]" if ":" in host else host
    with open(kept_in, encoding="ascii") as file:
        return f"http://{shown}:{port}/{name}?token={file.readline().strip()}"


def _served(url: str) -> str | None:
    """The identity of the queue that is served there. StorageError when nobody answers, after one attempt."""
    from dibs.clock import SYSTEM
    from dibs.queues.remote.address import parse
    from dibs.queues.remote.connections import Connections
    from dibs.values import replace

    settings = dict(part.split("=", 1) for part in url.partition("?")[2].split("&") if "=" in part)
    connections = Connections(replace(parse(url, settings), timeout=ANSWER_SECONDS), SYSTEM)
    try:
        found: str | None = connections.first("", 0.0).get("identity")
        return found
    finally:
        connections.close()
