"""serve: queues over HTTP and a Unix socket, until a signal ends it."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from functools import partial

from dibs import config as settings
from dibs.cli.arguments import add_json, add_queue_type
from dibs.cli.exits import DONE, USAGE, CommandError
from dibs.cli.output import emit, warn
from dibs.cli.place import Place, find, find_specs, open_place
from dibs.queues import split_url
from dibs.redact import redact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dibs.serve.house import Beside
    from dibs.serve.logs import Log


def configure(parser: ArgumentParser, command: str) -> None:
    parser.description, parser.epilog = _DESCRIPTION, _EXAMPLES
    parser.add_argument(
        "queue",
        metavar="QUEUE",
        nargs="*",
        help="queues to serve: names in dibs.toml, URLs or paths; else all those of dibs.toml",
    )
    parser.add_argument("--listen", metavar="HOST:PORT", help="listen there; 127.0.0.1:8750 if not given")
    parser.add_argument("--socket", metavar="PATH", help="the Unix socket to listen on, or none")
    parser.add_argument("--token", metavar="FILE", help="the file that the token is kept in; made if it is not there")
    parser.add_argument(
        "--allow-host", metavar="NAME", action="append", help="a name by which clients may call this host"
    )
    parser.add_argument("--log", choices=("text", "json"), help="the form of the log on stderr; text if not given")
    parser.add_argument(
        "--log-level", choices=("debug", "info", "warning", "error"), help="the least to log; info if not given"
    )
    add_queue_type(parser)
    add_json(parser, "say what is served as one JSON object on stdout")


def run(args: Namespace, command: str) -> int:
    from dibs.serve.running import require

    require()
    config = settings.load()
    words = args.queue or list(config.queues) or ["."]
    places: dict[str, Place] = {}
    for word in words:
        place = find(word, args.queue_type, config)
        name = _name_of(place)
        if name in places:
            raise CommandError(f"two queues would be called {name!r}", "name them in dibs.toml", USAGE)
        places[name] = place
    return _serve(args, config, places)


def _name_of(place: Place) -> str:
    """Its name in dibs.toml, or on its server, or the last part of its path."""
    if place.name is not None:
        return place.name
    _, path, query = split_url(place.url)
    named = [part.partition("=")[2] for part in query.split("&") if part.startswith("queue=")]
    name = named[0] if named else path.rstrip("/").rpartition("/")[2]
    if not name or not all(char.isalnum() or char in "._-" for char in name):
        raise CommandError(f"{redact(place.url)!r} has no name to serve it under", "name it in dibs.toml", USAGE)
    return name


def _serve(args: Namespace, config: settings.Config, places: dict[str, Place]) -> int:
    import asyncio

    from dibs.queues.remote.address import token_file
    from dibs.serve import running, tokens
    from dibs.serve.app import Door
    from dibs.serve.dashboard.dashboard import Dashboard
    from dibs.serve.desk import Desk
    from dibs.serve.gatehouse import Gatehouse
    from dibs.serve.house import House

    host, port = running.split_listen(config.daemon("listen", args.listen))
    kept_in = os.path.abspath(os.path.expanduser(config.daemon("token", args.token) or token_file()))
    path = _socket(config.daemon("socket", args.socket), kept_in)
    known = tokens.load(kept_in)
    listening = running.listen_tcp(host, port)
    hosts = [*(args.allow_host or ()), f"[{host}]" if ":" in host else host]
    by_unix = None if path is None else running.listen_unix(path)
    desks = [Desk(name, partial(open_place, place, create=True, pid=None)) for name, place in places.items()]
    beside = [*_remembering(config), Dashboard(config.daemon("mask")), *_feeding(places)]
    house = House(desks, grace=config.daemon("grace"), log=_log(args, config), beside=beside)
    everywhere = host in ("0.0.0.0", "::")  # noqa: S104
    rate = config.daemon("rate")
    doors = [(Door(house, Gatehouse(known, hosts, any_address=everywhere, rate=rate)), listening)]
    if by_unix is not None:
        doors.append((Door(house, Gatehouse(None)), by_unix))
    shown_host = f"[{host}]" if ":" in host else host
    where = f"http://{shown_host}:{listening.getsockname()[1]}"
    daemon = running.Running(house, doors)

    def ready() -> None:
        if args.json:
            emit({"url": where, "socket": path, "token_file": kept_in,
                  "queues": {name: redact(place.url) for name, place in places.items()}})  # fmt: skip
            import sys

            sys.stdout.flush()
            return
        also = f" and unix:{path}" if path else ""
        warn(f"dibs: serving {', '.join(places)} at {where}{also}; the token is in {kept_in}")
        warn("dibs: look at it with `dibs dashboard`")

    async def serve() -> None:
        daemon.catch_signals()
        await daemon.serve(ready)

    try:
        asyncio.run(serve())
    finally:
        if path is not None:
            running.remove_socket(path)
    return DONE


def _remembering(config: settings.Config) -> list[Beside]:
    from dibs.serve.cache.remembering import Remembering
    from dibs.serve.search.searching import Searching

    index = config.daemon("index")
    folder = index if index in (None, "none") else os.path.abspath(os.path.expanduser(index))
    found: list[Beside] = [Remembering()] if config.daemon("cache") else []
    return [*found, Searching(folder, config.daemon("rescan"))]


def _feeding(places: dict[str, Place]) -> list[Beside]:
    from dibs.serve.feeding import Feeding

    fed = [(name, specs, place) for name, place in places.items() if (specs := find_specs(place)) is not None]
    return [
        Feeding(name, partial(open_place, specs), partial(open_place, place, create=True, pid=None))
        for name, specs, place in fed
    ]


def _log(args: Namespace, config: settings.Config) -> Log:
    from dibs.serve.logs import FORMS, LEVELS, Log

    form, level = config.daemon("log", args.log), config.daemon("log_level", args.log_level)
    for what, given, known in (("log", form, FORMS), ("log_level", level, LEVELS)):
        if given not in known:
            raise CommandError(f"{what} {given!r} is not known", f"use one of {', '.join(known)}", USAGE)
    return Log(form=form, level=level)


def _socket(given: str | None, token: str) -> str | None:
    if given == "none":
        return None
    if given is not None:
        return os.path.abspath(os.path.expanduser(given))
    return os.path.join(os.environ.get("XDG_RUNTIME_DIR") or os.path.dirname(token), "dibs.sock")


_DESCRIPTION = """\
Serve queues over HTTP: workers and people that cannot reach a queue itself use http://HOST:8750/NAME instead, with \
every command. The queues stay the truth, and whoever can reach them goes on using them directly at the same time.
Only this host can connect unless --listen says else, and over TCP a token is needed: it is made at the first start, \
in a file that only you can read. Clients take it from DIBS_TOKEN, or on this host from that file.
SIGTERM or Ctrl-C ends it; what workers hold stays theirs, and they go on when it is started again.
"""

_EXAMPLES = """
Examples:
  dibs serve                               # the queues of dibs.toml, or else the default queue
  dibs serve queues/scrape
  dibs work http://localhost:8750/scrape -- ./scrape {}
  dibs serve scrape --listen 0.0.0.0:8750 --allow-host queue.example.com
  dibs serve scrape --socket /run/dibs.sock
  dibs stats unix:/run/dibs.sock/scrape
"""
