"""dashboard: open the page of a daemon in a browser, signed in."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace

from dibs import config as settings
from dibs.cli.arguments import add_json
from dibs.cli.exits import DONE, USAGE, CommandError
from dibs.cli.output import emit, warn

ANSWER_SECONDS = 5.0
BROWSER_SECONDS = 30.0


def configure(parser: ArgumentParser, command: str) -> None:
    parser.description, parser.epilog = _DESCRIPTION, _EXAMPLES
    parser.add_argument(
        "url", metavar="URL", nargs="?", help="the daemon, or a queue of it; http://127.0.0.1:8750 if not given"
    )
    add_json(parser, "open nothing: one JSON object on stdout that says where it is")


def run(args: Namespace, command: str) -> int:
    config = settings.load()
    address, token = _find(args.url, config)
    version = _version(address)
    if args.json:
        emit({"url": address, "version": version, "token": token is not None})
        return DONE
    if not _opened(address, token):
        hint = "" if token is None else "; it asks for the token, which is the first line of the daemon's token file"
        warn(f"dibs: no browser here; open {address}{hint}")
    return DONE


def page(host: str, port: int) -> str:
    """The address of a daemon that listens there, for this host."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _find(given: str | None, config: settings.Config) -> tuple[str, str | None]:
    """(the page's address, the token)."""
    from dibs.queues.remote.address import parse
    from dibs.serve.running import split_listen

    if given is None:
        given = page(*split_listen(config.daemon("listen")))
    if not given.lower().startswith(("http://", "https://")):
        raise CommandError(f"{given!r} cannot be opened by a browser", "http://HOST:8750", USAGE)
    place, _, query = given.partition("?")
    name = "" if place.count("/") > 2 and place.split("/", 3)[3] else "/any"
    fields = dict(part.split("=", 1) for part in query.split("&") if "=" in part)
    address = parse(place.rstrip("/") + name, fields)
    return f"{address.where}/", address.token


def _version(address: str) -> str:
    """Of the daemon; CommandError when there is none."""
    import json
    from urllib.error import HTTPError
    from urllib.request import ProxyHandler, build_opener

    try:
        with build_opener(ProxyHandler({})).open(f"{address}healthz", timeout=ANSWER_SECONDS) as answer:
            return str(json.load(answer).get("version", ""))
    except HTTPError:
        return ""  # it answers: that is enough
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise CommandError(f"no daemon answers at {address}: {reason}", "dibs serve") from None


def _opened(address: str, token: str | None) -> bool:
    import webbrowser

    if sys.platform.startswith("linux") and not any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    ):
        return False
    if token is None:
        return webbrowser.open(address)
    from dibs.cli.handover import hand_over

    return hand_over(f"{address}#token={token}", webbrowser.open, BROWSER_SECONDS)


_DESCRIPTION = """\
Open the dashboard of a daemon (`dibs serve`) in a browser: queues, tasks, who works on what, charts.
The token is that of DIBS_TOKEN, or on this host the one in the daemon's file ([daemon] token in dibs.toml, or \
DIBS_DAEMON_TOKEN, if it is not the usual one). It is handed to the browser by a \
redirect that works once, never in a command line that others could see.
"""

_EXAMPLES = """
Examples:
  dibs dashboard
  dibs dashboard http://queue-host:8750
  dibs dashboard --json
"""
