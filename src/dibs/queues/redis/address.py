"""Where a Redis queue is: what `redis://user:password@host:port/db?queue=NAME&prefix=dibs` says.

All keys of a queue begin with one hash tag, `{prefix:queue}`, so that it lives on one slot of a cluster. What is no
letter, digit, `-`, `_` or `.` in either name is written as %XX there: no name can reach into another queue.
"""

import os
from urllib.parse import quote, unquote, urlsplit

from dibs.errors import BadInput
from dibs.redact import redact
from dibs.task import checked_number
from dibs.values import dataclass

SETTINGS = ("queue", "prefix", "socket", "retention", "timeout", "patience", "idle", "warn", "ca", "cert", "key")
_MAX_NAME_BYTES = 256
_NAMES = {"prefix": "dibs", "queue": "default"}
_NUMBERS = {"retention": None, "timeout": 30.0, "patience": 60.0, "idle": 30.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    host: str
    port: int
    db: int
    username: str | None
    password: str | None
    tls: bool
    ca: str | None  # for TLS: who vouches for the server (else the system's), and who we are
    cert: str | None
    key: str | None
    socket: str | None  # the path of a Unix socket, instead of host and port
    base: str  # how every key begins
    retention: float | None
    timeout: float  # how long one answer may take
    patience: float  # how long a lost connection is tried again
    idle: float  # between two looks of a worker that finds nothing and is not woken
    warn: bool

    @property
    def where(self) -> str:
        """For people: no user, no password."""
        return f"{self.socket or f'{self.host}:{self.port}'}/{self.db}"


def parse(url: str, settings: dict[str, str]) -> Address:
    """BadInput says what is missing or wrong."""
    shown = redact(url)
    unknown = sorted(set(settings) - set(SETTINGS))
    if unknown:
        raise BadInput(f"setting {unknown[0]!r} in {shown!r} is not known; known: {', '.join(SETTINGS)}")
    try:
        parts = urlsplit(url)
        host, port = unquote(parts.hostname or "localhost"), parts.port or 6379
    except ValueError as error:
        raise BadInput(f"{shown!r} is not a URL: {error}; write redis://HOST:PORT/DB?queue=NAME") from None
    for name in ("ca", "cert", "key"):
        if name in settings and not os.path.isfile(settings[name]):
            raise BadInput(f"{name}={settings[name]} in {shown!r} is no file; name one that is there")
    path = parts.path.strip("/")
    if path and not (path.isascii() and path.isdigit()):
        raise BadInput(f"database {path!r} in {shown!r} is not a number; write redis://HOST:PORT/0?queue=NAME")
    prefix, queue = (_name(name, settings.get(name, default)) for name, default in _NAMES.items())
    numbers = {name: _number(shown, name, settings.get(name), default) for name, default in _NUMBERS.items()}
    return Address(
        host=host,
        port=port,
        db=int(path or 0),
        username=unquote(parts.username) if parts.username else None,
        password=unquote(parts.password) if parts.password else None,
        tls=parts.scheme.lower() == "rediss",
        ca=settings.get("ca"),
        cert=settings.get("cert"),
        key=settings.get("key"),
        socket=settings.get("socket"),
        base=f"{{{prefix}:{queue}}}",
        retention=numbers["retention"],
        timeout=numbers["timeout"] or 0.0,
        patience=numbers["patience"] or 0.0,
        idle=numbers["idle"] or 0.0,
        warn=settings.get("warn", "on") != "off",
    )


def _name(what: str, name: str) -> str:
    try:
        encoded = quote(name, safe="").replace("~", "%7E")
    except UnicodeEncodeError:
        raise BadInput(f"{what} {name!r} is not valid Unicode") from None
    if not name or len(encoded) > _MAX_NAME_BYTES:
        raise BadInput(f"{what} {name[:40]!r} is not acceptable; use 1 to {_MAX_NAME_BYTES} plain characters")
    return encoded


def _number(shown: str, name: str, text: str | None, default: float | None) -> float | None:
    if text is None:
        return default
    try:
        return checked_number(name, float(text), 0.0 if name in ("retention", "patience") else 0.01)
    except ValueError:
        raise BadInput(f"{name}={text} in {shown!r} is not acceptable; use a number of seconds") from None
