"""serve: queues over HTTP and a Unix socket, until a signal ends it."""

from __future__ import annotations

import os
import re
import shlex
from argparse import ArgumentParser, Namespace
from functools import partial

from dibs import config as settings
from dibs.cli.arguments import add_json, add_queue_type
from dibs.cli.exits import DONE, USAGE, CommandError
from dibs.cli.near import identity, name_of, socket_path, token_path
from dibs.cli.output import emit, warn
from dibs.cli.place import Place, find, find_specs, open_place
from dibs.queues import split_url
from dibs.redact import redact

_RANDOM = re.compile(r"[0-9][A-Za-z]|[A-Za-z][0-9]")  # often in a token, hardly in the name of a file

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
    words = args.queue or [*config.queues, *(["."] if config.has_default or not config.queues else ())]
    _checked(config)
    places: dict[str, Place] = {}
    for word in words:
        place = find(word, args.queue_type, config)
        name = name_of(place)
        if name in places:
            raise CommandError(f"two queues would be called {name!r}", "name them in dibs.toml", USAGE)
        places[name] = place
    return _serve(args, config, places)


def _serve(args: Namespace, config: settings.Config, places: dict[str, Place]) -> int:
    import asyncio

    from dibs.host import this_host
    from dibs.serve import running, tokens
    from dibs.serve.app import Door
    from dibs.serve.dashboard.dashboard import Dashboard
    from dibs.serve.desk import Desk
    from dibs.serve.gatehouse import Gatehouse
    from dibs.serve.house import House
    from dibs.serve.journals import Journals

    host, port = running.split_listen(config.daemon("listen", args.listen))
    kept_in = _token_file(config, args.token)
    path = socket_path(config.daemon("socket", args.socket), kept_in)
    made = _made(places)
    known = tokens.load(kept_in)
    listening = running.listen_tcp(host, port)
    hosts = [*(args.allow_host or ()), f"[{host}]" if ":" in host else host]
    by_unix = None if path is None else running.listen_unix(path)
    desks = [
        Desk(name, partial(open_place, place, create=True, lasting=True, pid=None), partial(identity, place))
        for name, place in places.items()
    ]
    beside = [*_remembering(config), Dashboard(config.daemon("mask")), *_feeding(places)]
    log = _log(args, config)
    bound = listening.getsockname()[1]
    journals = Journals(path or f"{host}:{bound}", f"{this_host().name}:{bound}", log)
    house = House(desks, grace=config.daemon("grace"), log=log, beside=beside, journals=journals)
    everywhere = host in ("0.0.0.0", "::")  # noqa: S104
    rate = config.daemon("rate")
    doors = [(Door(house, Gatehouse(known, hosts, any_address=everywhere, rate=rate)), listening)]
    if by_unix is not None:
        doors.append((Door(house, Gatehouse(None)), by_unix))
    shown_host = f"[{host}]" if ":" in host else host
    where = f"http://{shown_host}:{bound}"
    daemon = running.Running(house, doors)

    def ready() -> None:
        if args.json:
            emit({"url": where, "socket": path, "token_file": kept_in,
                  "queues": {name: redact(place.url) for name, place in places.items()}})  # fmt: skip
            import sys

            sys.stdout.flush()
        else:
            also = f" and unix:{path}" if path else ""
            warn(f"dibs: serving {', '.join(places)} at {where}{also}; the token is in {kept_in}")
            warn(f"dibs: look at it with `{_looking(config, host, bound, kept_in)}`")
        for one in made:
            warn(f"dibs: there was no queue at {one}, so a new one was made")

    async def serve() -> None:
        daemon.catch_signals()
        await daemon.serve(ready)

    try:
        asyncio.run(serve())
    finally:
        if path is not None:
            running.remove_socket(path)
    return DONE


def _token_file(config: settings.Config, flag: str | None) -> str:
    given = config.daemon("token", flag)
    if given == "none":
        raise CommandError(
            "token 'none' is not possible: over TCP a token is always needed",
            "leave it out, or ./none for a file of that name; the Unix socket needs no token",
            USAGE,
        )
    path = token_path(given)
    name = os.path.basename(path)
    plain = given is not None and os.path.dirname(path) in (config.folder, os.getcwd())
    if plain and len(name) >= 24 and len(_RANDOM.findall(name)) >= 3 and not os.path.exists(path):
        raise CommandError(
            "token is the name of a file, and what is given looks like the token itself",
            'token = "token": the first line of that file is the token, and it is made if it is not there',
            USAGE,
        )
    return path


def _looking(config: settings.Config, host: str, port: int, kept_in: str) -> str:
    """The command that opens its dashboard from here."""
    from dibs.cli.dashboard import page
    from dibs.serve.running import split_listen

    known = page(*split_listen(config.daemon("listen")))
    where = page(host, port)
    token = "" if kept_in == token_path(config.daemon("token")) else f"DIBS_DAEMON_TOKEN={shlex.quote(kept_in)} "
    return f"{token}dibs dashboard" + ("" if where == known else f" {where}")


def _checked(config: settings.Config) -> None:
    """All of [daemon], also what a flag overrules or others read; and what lists and searches are to be answered from
    must be there."""
    from dibs.serve.running import split_listen

    given = {name: config.daemon(name) for name in settings.DAEMON}
    split_listen(given["listen"])
    _known("log", given["log"])
    _known("log_level", given["log_level"])
    wanted = config.backend().value
    if wanted == "derived" and not given["cache"]:
        raise CommandError(
            "backend 'derived' answers from what is remembered, but [daemon] cache is false",
            'cache = true, or backend = "specs"',
            USAGE,
        )
    if wanted == "tantivy":
        from dibs.serve.search.index import require

        require()


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
    from dibs.serve.logs import Log

    return Log(form=config.daemon("log", args.log), level=config.daemon("log_level", args.log_level))


def _known(name: str, given: str) -> None:
    from dibs.serve.logs import FORMS, LEVELS

    known = FORMS if name == "log" else LEVELS
    if given not in known:
        raise CommandError(f"{name} {given!r} is not known", f"use one of {', '.join(known)}", USAGE)


def _made(places: dict[str, Place]) -> list[str]:
    """The folders of queues that are not there and will be made."""
    found = [split_url(place.url)[:2] for place in places.values()]
    return [path for scheme, path in found if scheme in ("file", "lmdb") and not os.path.exists(path)]


_DESCRIPTION = """\
Serve queues over HTTP: workers and people that cannot reach a queue itself use http://HOST:8750/NAME instead, with \
every command. The queues stay the truth, and whoever can reach them goes on using them directly at the same time.
Only this host can connect unless --listen says else, and over TCP a token is needed: it is made at the first start, \
in a file that only you can read. Clients take it from ?token= in the URL, from DIBS_TOKEN, or on this host from that \
file: the usual one, or the one that [daemon] token in dibs.toml or DIBS_DAEMON_TOKEN names. After --token they need \
one of these.
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
