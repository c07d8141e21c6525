"""Settings: flags, then the environment, then dibs.toml, then defaults; each value knows where it came from.

`dibs.toml` is looked for in the working directory and upwards. At its top stand the settings of
`SETTINGS`; `[queues.NAME]` names a queue (`url`) and may set again those that `PER_QUEUE` lists:

    queue = "scrape"                                  # the queue that `.` means
    ttl = "5m"

    [queues.scrape]
    url = "queues/scrape"                             # a path is relative to this file
    max_attempts = 5

    [queues.shared]
    url = "${DATABASE_URL}"                           # ${NAME} is the environment's
    schema = "work"                                   # these become settings of the URL: see PLACE
    specs = ".dibs/specs"                             # `dibs serve` pushes what is ready there

    [daemon]                                          # of `dibs serve`: see DAEMON
    listen = "127.0.0.1:8750"

On a server that holds many queues (PostgreSQL, Redis) one is called what it is called here, unless `queue` says else.
In the environment a setting is called `DIBS_` and its name in capitals; an empty one is not set. A name that
is not known in dibs.toml is an error, so that a typing mistake cannot go unseen.
"""

from __future__ import annotations

import os

from dibs.errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

FILE = "dibs.toml"
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def duration(value: str | float) -> float:
    """Seconds from `30`, `30s`, `5m`, `2h`, `7d` or a number."""
    text = str(value).strip()
    unit = _UNITS.get(text[-1:].lower())
    try:
        seconds = float(text if unit is None else text[:-1]) * (unit or 1.0)
        if 0 <= seconds < float("inf") and not isinstance(value, bool):
            return seconds
    except ValueError:
        pass
    raise BadInput(f"duration {text!r} is not acceptable; write seconds, or 30s, 5m, 2h, 7d")


def duration_text(seconds: float) -> str:
    """As it would be written: 90s, 5m, 2h, 7d."""
    for unit in ("d", "h", "m"):
        if seconds and seconds % _UNITS[unit] == 0:
            return f"{seconds / _UNITS[unit]:g}{unit}"
    return f"{seconds:g}s"


def count(value: str | int) -> int:
    """A whole number from 1."""
    try:
        number = int(value)
        if number >= 1 and not isinstance(value, bool | float):
            return number
    except ValueError:
        pass
    raise BadInput(f"number {value!r} is not acceptable; write a whole number from 1")


def flag(value: str | bool) -> bool:
    """true or false."""
    text = str(value).strip().lower()
    if text not in ("true", "false"):
        raise BadInput(f"{value!r} is not acceptable; write true or false")
    return text == "true"


def number(value: str | float) -> float:
    """Any number from 0."""
    try:
        found = float(value)
        if 0 <= found < float("inf") and not isinstance(value, bool):
            return found
    except (TypeError, ValueError):
        pass
    raise BadInput(f"number {value!r} is not acceptable; write a number from 0")


def _text(value: str) -> str:
    if not isinstance(value, str) or not value:
        raise BadInput(f"{value!r} is not acceptable; write a text")
    return value


def _texts(value: str | list[str]) -> tuple[str, ...]:
    """A list of texts; in the environment with commas between."""
    items = [item.strip() for item in value.split(",")] if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(item, str) and item for item in items):
        raise BadInput(f"{value!r} is not acceptable; write a list of texts")
    return tuple(items)


# name -> (how it is read, default, what it is)
SETTINGS: dict[str, tuple[Callable[[Any], Any], Any, str]] = {
    "queue": (_text, "file:.dibs/queues/default", "the queue used when none is given, or `.`"),
    "queue_type": (_text, "filesystem", "the provider of a queue that is given as a plain path"),
    "ttl": (duration, 60.0, "how long a lease holds without renewal"),
    "max_attempts": (count, 3, "push: failed attempts until a task is dead-lettered"),
    "max_deaths": (count, 5, "push: workers a task may kill until it is dead-lettered"),
    "max_runtime": (duration, None, "push: the longest a lease may be held, however it is renewed"),
    "backoff": (duration, 1.0, "push: seconds before the first retry; doubles each time"),
    "max_backoff": (duration, 3600.0, "push: the longest wait before a retry"),
}
# of `[daemon]`, for `dibs serve`; in the environment DIBS_DAEMON_…
DAEMON: dict[str, tuple[Callable[[Any], Any], Any, str]] = {
    "listen": (_text, "127.0.0.1:8750", "the address and port to listen on"),
    "socket": (_text, None, "the Unix socket to listen on, or none"),
    "token": (_text, None, "the file that the token is kept in"),
    "rate": (number, 10_000.0, "requests a second from one address or with one token; 0 for any number"),
    "log": (_text, "text", "the form of the log: text or json"),
    "log_level": (_text, "info", "the least that is logged: debug, info, warning or error"),
    "grace": (duration, 5.0, "how long a worker whose connection dropped may take to come back"),
    "cache": (flag, True, "whether lists are answered from what is remembered of the files"),
    "index": (_text, None, "the folder of the search indexes, or none to keep them in memory"),
    "rescan": (duration, 30.0, "how old what is found may be, in queues that are no files of this machine"),
    "mask": (_texts, (), "keys of payloads whose values the dashboard hides"),
}
SPECS = "specs"  # of a queue: the specs that `dibs serve` pushes to it
PER_QUEUE = tuple(name for name in SETTINGS if name != "queue")
PLACE = ("queue", "schema", "prefix", "pool_size", "pooler", "retention", "region", "endpoint")
_MANY_QUEUES = ("postgres", "postgresql", "redis", "rediss")


class Value:
    """A setting's value, and where it came from."""

    __slots__ = ("source", "value")

    def __init__(self, value: Any, source: str) -> None:
        self.value = value
        self.source = source


class Config:
    """What the environment and dibs.toml say. Flags are given to `setting` by who has parsed them."""

    def __init__(self, environ: Mapping[str, str], path: str | None = None, document: Any = None) -> None:
        self.path = path
        self._environ = environ
        self._top, self.queues, self._daemon = _checked(path or FILE, {} if document is None else document)

    @property
    def folder(self) -> str:
        """What relative paths in dibs.toml are relative to."""
        return os.path.dirname(self.path) if self.path else ""

    def setting(self, name: str, queue: str | None = None, flag: Any = None) -> Value:
        """The value of a setting, for the queue called `queue` in dibs.toml if there is one."""
        read, default, _ = SETTINGS[name]
        if flag is not None:
            return Value(flag, "flag")
        variable = "DIBS_" + name.upper()
        if text := self._environ.get(variable):
            return Value(self._read(read, text, variable), f"environment {variable}")
        for section, table in ((f"queues.{queue}", self.queues.get(queue or "", {})), ("", self._top)):
            if name in table:
                where = f"{self.path} [{section}]" if section else str(self.path)
                return Value(self._read(read, self._filled(table[name], where), f"{name} in {where}"), where)
        return Value(default, "default")

    def daemon(self, name: str, flag: Any = None) -> Any:
        """The value of a setting of the daemon."""
        read, default, _ = DAEMON[name]
        variable = "DIBS_DAEMON_" + name.upper()
        if flag is not None:
            return flag
        if text := self._environ.get(variable):
            return self._read(read, text, variable)
        where = f"{self.path} [daemon]"
        return self._read(read, self._filled(self._daemon[name], where), where) if name in self._daemon else default

    def url(self, queue: str) -> str:
        """The URL of a queue named in dibs.toml, with the environment filled in, and the settings that stand beside."""
        where = f"{self.path} [queues.{queue}]"
        table = self.queues[queue]
        url = str(self._read(_text, self._filled(table["url"], where), f"url in {where}"))
        given = {part.partition("=")[0] for part in url.partition("?")[2].split("&")}
        beside = {name: self._filled(table[name], where) for name in PLACE if name in table}
        for name, value in beside.items():
            if name in given:
                raise BadInput(f"{where} has {name!r} twice, also in its url; remove one")
            if not isinstance(value, str | int | float) or isinstance(value, bool):
                raise BadInput(f"{name} in {where}: {value!r} is not acceptable; write a text or a number")
        if url.partition(":")[0].lower() in _MANY_QUEUES and "queue" not in given:
            beside.setdefault("queue", queue)
        if not beside:
            return url
        from urllib.parse import quote

        settings = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in beside.items())
        return f"{url}{'&' if '?' in url else '?'}{settings}"

    def specs(self, queue: str) -> str | None:
        """The specs that feed a queue named in dibs.toml: a folder, or a URL; None when none do."""
        where = f"{self.path} [queues.{queue}]"
        table = self.queues[queue]
        return self._read(_text, self._filled(table[SPECS], where), f"{SPECS} in {where}") if SPECS in table else None

    def _read(self, read: Callable[[Any], Any], value: Any, where: str) -> Any:
        try:
            return read(value)
        except BadInput as error:
            raise BadInput(f"{where}: {error}") from None

    def _filled(self, value: Any, where: str) -> Any:
        """`value` with each ${NAME} replaced from the environment; one that is not set is an error."""
        if not isinstance(value, str):
            return value
        head, *parts = value.split("${")
        for part in parts:
            name, closed, rest = part.partition("}")
            if not closed or name not in self._environ:
                raise BadInput(f"{where} uses ${{{name}}}, which is not set in the environment; set it")
            head += self._environ[name] + rest
        return head


def load(environ: Mapping[str, str] | None = None, folder: str | None = None) -> Config:
    """Read the nearest dibs.toml from `folder` (the working directory) upwards, if there is one."""
    environ = os.environ if environ is None else environ
    path = _find(_working_directory() if folder is None else os.path.abspath(folder))
    if path is None:
        return Config(environ)
    import tomllib

    try:
        with open(path, "rb") as file:
            return Config(environ, path, tomllib.load(file))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} is not TOML: {error}") from None
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from None


def _working_directory() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise BadInput("the working directory is gone; change to one that exists") from None


def _find(folder: str) -> str | None:
    while True:
        path = os.path.join(folder, FILE)
        if os.path.isfile(path):
            return path
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def _checked(path: str, document: dict[str, Any]) -> tuple[dict[str, Any], dict[str, dict[str, Any]], dict[str, Any]]:
    """(top settings, queues by name, the daemon's); BadInput for a name that is not known, or a queue without a URL."""
    top = dict(document)
    queues = top.pop("queues", {})
    daemon = top.pop("daemon", {})
    _no_unknown(path, "setting", top, (*SETTINGS, "queues", "daemon"))
    if not isinstance(daemon, dict):
        raise BadInput(f'{path}: daemon must be a table; write [daemon] and listen = "…" under it')
    _no_unknown(path, "setting of [daemon]", daemon, tuple(DAEMON))
    if not isinstance(queues, dict) or not all(isinstance(table, dict) for table in queues.values()):
        raise BadInput(f'{path}: queues must be tables; write [queues.NAME] and url = "…" under it')
    for name, table in queues.items():
        if not all(char.isalnum() or char in "._-" for char in name) or not name[:1].isalnum():
            raise BadInput(f"{path}: queue name {name!r} is not acceptable; use letters, digits and . _ -")
        _no_unknown(path, f"setting of [queues.{name}]", table, ("url", SPECS, *PER_QUEUE, *PLACE))
        if "url" not in table:
            raise BadInput(f'{path}: [queues.{name}] has no url; add url = "…"')
    return top, queues, daemon


def _no_unknown(path: str, what: str, table: dict[str, Any], known: tuple[str, ...]) -> None:
    for name in table:
        if name not in known:
            raise BadInput(f"{path}: {name!r} is no known {what}; known: {', '.join(known)}")
