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

Instead of `queue = "…"` a table may say where the queue is that `.` means: see `default_queue`.

On a server that holds many queues (PostgreSQL, Redis) one is called what it is called here, unless `queue` says else.
In the environment a setting is called `DIBS_` and its name in capitals; an empty one is not set. A name that
is not known in dibs.toml is an error, so that a typing mistake cannot go unseen.
"""

from __future__ import annotations

import os

from dibs.errors import BadInput
from dibs.forms import count as count
from dibs.forms import duration as duration
from dibs.forms import duration_text as duration_text
from dibs.forms import flag, number, switch, text, texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Table = dict[str, Any]

FILE = "dibs.toml"

# name -> (how it is read, default, what it is)
SETTINGS: dict[str, tuple[Callable[[Any], Any], Any, str]] = {
    "queue": (text, "file:.dibs/queues/default", "the queue used when none is given, or `.`"),
    "queue_type": (text, "filesystem", "the provider of a queue that is given as a plain path"),
    "ttl": (duration, 60.0, "how long a lease holds without renewal"),
    "max_attempts": (count, 3, "push: failed attempts until a task is dead-lettered"),
    "max_deaths": (count, 5, "push: workers a task may kill until it is dead-lettered"),
    "max_runtime": (duration, None, "push: the longest a lease may be held, however it is renewed"),
    "backoff": (duration, 1.0, "push: seconds before the first retry; doubles each time"),
    "max_backoff": (duration, 3600.0, "push: the longest wait before a retry"),
}
# of `[daemon]`, for `dibs serve`; in the environment DIBS_DAEMON_…
DAEMON: dict[str, tuple[Callable[[Any], Any], Any, str]] = {
    "enabled": (flag, False, "whether commands ask the daemon of this dibs.toml, when it runs"),
    "listen": (text, "127.0.0.1:8750", "the address and port to listen on"),
    "socket": (text, None, "the Unix socket to listen on, or none"),
    "token": (text, None, "the file that the token is kept in"),
    "rate": (number, 10_000.0, "requests a second from one address or with one token; 0 for any number"),
    "log": (text, "text", "the form of the log: text or json"),
    "log_level": (text, "info", "the least that is logged: debug, info, warning or error"),
    "grace": (duration, 5.0, "how long a worker whose connection dropped may take to come back"),
    "cache": (flag, True, "whether lists are answered from what is remembered of the files"),
    "index": (text, None, "the folder of the search indexes, or none to keep them in memory"),
    "rescan": (duration, 30.0, "how old what is found may be, in queues that are no files of this machine"),
    "mask": (texts, (), "keys of payloads whose values the dashboard hides"),
}
_PATHS = ("socket", "token", "index")
SWITCH, BACKEND = "DIBS_DAEMON", "DIBS_QUEUE_BACKEND"
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
        document = {} if document is None else document
        self._top, self.queues, self._daemon, self._queue = _checked(path or FILE, document)

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
        if said := self._environ.get(variable):
            return Value(self._read(read, said, variable), f"environment {variable}")
        if name == "queue" and (found := self._default_queue()) is not None:
            return found
        for section, table in ((f"queues.{queue}", self.queues.get(queue or "", {})), ("", self._top)):
            if name in table:
                where = f"{self.path} [{section}]" if section else str(self.path)
                return Value(self._read(read, self._filled(table[name], where), f"{name} in {where}"), where)
        return Value(default, "default")

    def daemon(self, name: str, flag: Any = None) -> Any:
        """The value of a setting of the daemon."""
        return self.daemon_setting(name, flag).value

    def daemon_setting(self, name: str, flag: Any = None) -> Value:
        read, default, _ = DAEMON[name]
        if flag is not None:
            return Value(flag, "flag")
        variable = "DIBS_DAEMON_" + name.upper()
        if name == "enabled" and (said := self._environ.get(SWITCH)):
            return Value(self._read(switch, said, SWITCH), f"environment {SWITCH}")
        if said := self._environ.get(variable):
            return Value(self._read(read, said, variable), f"environment {variable}")
        where = f"{self.path} [daemon]"
        if name in self._daemon:
            value = self._read(read, self._filled(self._daemon[name], where), f"{name} in {where}")
            if name in _PATHS and value != "none":
                value = os.path.join(self.folder, os.path.expanduser(value))
            return Value(value, where)
        return Value(default, "default")

    @property
    def has_default(self) -> bool:
        """Whether dibs.toml says where the default queue is, in `[queue]`."""
        return bool(self._queue)

    def backend(self) -> Value:
        """What the queue is made on that is used when none is given and dibs.toml names none."""
        from dibs.default_queue import backend

        if said := self._environ.get(BACKEND):
            return Value(self._read(backend, said, BACKEND), f"environment {BACKEND}")
        where = f"{self.path} [queue]"
        if "backend" in self._queue:
            given = self._read(text, self._filled(self._queue["backend"], where), f"backend in {where}")
            return Value(self._read(backend, given, where), where)
        return Value("file", "default")

    def _default_queue(self) -> Value | None:
        """By `[queue]`, or a backend that the environment names; None without either."""
        if not self._queue and not self._environ.get(BACKEND):
            return None
        from dibs.default_queue import NAME, url_of

        chosen, where = self.backend(), f"{self.path or FILE} [queue]"
        given = self._queue.get("url")
        filled = None if given is None else self._read(text, self._filled(given, where), f"url in {where}")
        url = url_of(chosen.value, filled, where)
        return Value(self._with_beside(url, self._queue, where, NAME), where if self._queue else chosen.source)

    def url(self, queue: str) -> str:
        """The URL of a queue named in dibs.toml, with the environment filled in, and the settings that stand beside."""
        where = f"{self.path} [queues.{queue}]"
        table = self.queues[queue]
        url = str(self._read(text, self._filled(table["url"], where), f"url in {where}"))
        return self._with_beside(url, table, where, queue)

    def _with_beside(self, url: str, table: dict[str, Any], where: str, queue: str) -> str:
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
        return self._read(text, self._filled(table[SPECS], where), f"{SPECS} in {where}") if SPECS in table else None

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


def token_file() -> str:
    """Where a daemon of this user keeps its token, unless it was told another place."""
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.join(os.path.expanduser("~"), ".config")
    return os.environ.get("DIBS_TOKEN_FILE") or os.path.join(config, "dibs", "token")


def kept_token_file() -> str:
    """Where a daemon of this host keeps its token, as the nearest dibs.toml, or the environment, says."""
    try:
        given = load().daemon("token")
    except BadInput:
        given = None  # whoever needs a dibs.toml says what is wrong with it
    return os.path.expanduser(given or token_file())


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


def _checked(path: str, document: Table) -> tuple[Table, dict[str, Table], Table, Table]:
    """(top settings, queues by name, the daemon's, those of the default queue); BadInput for a name that is not known,
    or a queue without a URL."""
    top = dict(document)
    default = top.pop("queue") if isinstance(top.get("queue"), dict) else {}
    _no_unknown(path, "setting of [queue]", default, ("backend", "url", *PLACE))
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
    return top, queues, daemon, default


def _no_unknown(path: str, what: str, table: dict[str, Any], known: tuple[str, ...]) -> None:
    for name in table:
        if name not in known:
            raise BadInput(f"{path}: {name!r} is no known {what}; known: {', '.join(known)}")
