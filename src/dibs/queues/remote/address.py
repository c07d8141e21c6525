"""Where a daemon is: what `http://HOST:PORT/NAME` or `unix:SOCKET/NAME` says, and which token goes with it.

The token is that of `?token=`, else of `DIBS_TOKEN`; on this host, else, the one that the daemon keeps in its file: the
one that `[daemon] token` in dibs.toml names, or the usual one.
"""

import os
import stat
from urllib.parse import quote, unquote, urlsplit

from dibs.config import kept_token_file
from dibs.errors import BadInput
from dibs.queues.remote.wire import PORT
from dibs.redact import redact
from dibs.task import checked_number
from dibs.values import dataclass

SETTINGS = ("token", "timeout", "patience", "ca")
LOOPBACK = ("127.0.0.1", "localhost", "::1")
_NUMBERS = {"timeout": 30.0, "patience": 60.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    host: str
    port: int
    tls: bool
    socket: str | None  # the path of a Unix socket, instead of host and port
    name: str
    token: str | None
    timeout: float  # how long one answer may take
    patience: float  # how long a daemon that does not answer is tried again
    ca: str | None  # a file of certificates to trust, besides those of the system
    kept_in: str | None  # the file that the token was taken from, if it was

    @property
    def where(self) -> str:
        """For people."""
        return f"unix:{self.socket}" if self.socket else f"{'https' if self.tls else 'http'}://{self.named}"

    @property
    def named(self) -> str:
        """As the header `Host` says it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.socket else f"{host}:{self.port}"

    @property
    def base(self) -> str:
        return f"/v1/queues/{quote(self.name, safe='')}"


def parse(url: str, settings: dict[str, str]) -> Address:
    """BadInput says what is missing or wrong."""
    shown = redact(url)
    unknown = sorted(set(settings) - set(SETTINGS))
    if unknown:
        raise BadInput(f"setting {unknown[0]!r} in {shown!r} is not known; known: {', '.join(SETTINGS)}")
    numbers = {name: _number(shown, name, settings.get(name), default) for name, default in _NUMBERS.items()}
    token = settings.get("token") or os.environ.get("DIBS_TOKEN") or None
    if token is not None and not (token.isascii() and token.isprintable() and " " not in token):
        raise BadInput(f"the token for {shown!r} is not acceptable; use the one in the daemon's token file")
    if url.partition(":")[0].lower() == "unix":
        path = url.partition(":")[2].partition("?")[0]
        socket, _, name = path.rpartition("/")
        if not socket or not name or _is_socket(path):
            raise BadInput(f"{shown!r} names no queue; write unix:/PATH/TO/dibs.sock/NAME")
        socket = os.path.abspath(socket)
        return Address(
            host="localhost",
            port=0,
            tls=False,
            socket=socket,
            name=unquote(name),
            token=token,
            ca=None,
            kept_in=None,
            **numbers,
        )
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise BadInput(f"{shown!r} is not a URL: {error}; write http://HOST:{PORT}/NAME") from None
    name, tls = parts.path.strip("/"), parts.scheme.lower() == "https"
    if not host or not name or "/" in name or "@" in parts.netloc:
        raise BadInput(f"{shown!r} is not the URL of a queue; write http://HOST:{PORT}/NAME")
    kept_in = kept_token_file() if token is None and host in LOOPBACK else None
    if kept_in is not None:
        token = _kept_token(kept_in)
    port = port or (443 if tls else PORT)
    return Address(
        host=host,
        port=port,
        tls=tls,
        socket=None,
        name=unquote(name),
        token=token,
        ca=settings.get("ca"),
        kept_in=kept_in if token else None,
        **numbers,
    )


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)
    except OSError:
        return False


def _kept_token(path: str) -> str | None:
    try:
        with open(path, encoding="ascii") as file:
            return file.readline().strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def _number(shown: str, name: str, text: str | None, default: float) -> float:
    try:
        return default if text is None else checked_number(name, float(text), 0.0 if name == "patience" else 0.01)
    except ValueError:
        raise BadInput(f"{name}={text} in {shown!r} is not acceptable; use a number of seconds") from None
