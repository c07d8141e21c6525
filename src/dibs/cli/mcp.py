"""mcp: queues for coding agents, over the Model Context Protocol on standard input and output."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from dibs import config as settings
from dibs.cli.arguments import add_json, add_queue_type
from dibs.cli.exits import DONE, INTERRUPTED
from dibs.cli.output import emit, say, warn
from dibs.cli.place import Place, find, open_place
from dibs.errors import MissingExtra

if TYPE_CHECKING:
    from dibs.mcp.tools import Desk


def configure(parser: ArgumentParser, command: str) -> None:
    parser.description, parser.epilog = _DESCRIPTION, _EXAMPLES
    parser.add_argument(
        "queue",
        metavar="QUEUE",
        nargs="*",
        help="queues to serve, the default first: names in dibs.toml, URLs or paths; else all those of dibs.toml",
    )
    parser.add_argument("--any-queue", action="store_true", help="let the client name any other queue by URL or path")
    add_queue_type(parser)
    add_json(parser, "do not serve: one JSON object on stdout that says which queues and tools would be served")


def run(args: Namespace, command: str) -> int:
    _require_sdk()
    from dibs.mcp.holding import Holding
    from dibs.mcp.places import Places
    from dibs.mcp.tools import TOOLS, Desk

    config = settings.load()

    def other(word: str) -> Place:
        return find(word, args.queue_type, config)

    named = [(word, other(word)) for word in args.queue or _configured(config)]
    given = [(place.name or (place.url if word == "." else word), place) for word, place in named]
    places = Places(given, open_place, other if args.any_queue else None)
    if args.json:
        emit({"queues": places.urls, "any_queue": places.any, "tools": [tool.name for tool in TOOLS]})
        return DONE
    say(f"speaking MCP on standard input and output for {', '.join(places.names)}; Ctrl-C ends it")
    return _serve(Desk(places, Holding()))


def _require_sdk() -> None:
    from importlib.util import find_spec

    if find_spec("mcp") is None or find_spec("mcp_types") is None:  # before 2.0 there was no mcp_types
        raise MissingExtra(
            "dibs mcp needs the official MCP SDK (mcp 2.0 or newer), which is not installed; pip install 'dibs[mcp]'"
        )


def _configured(config: settings.Config) -> list[str]:
    """The default queue if somebody chose one, and those that dibs.toml names; else the default queue."""
    chosen = config.setting("queue").source != "default"
    return [*(["."] if chosen or not config.queues else []), *config.queues]


def _serve(desk: Desk) -> int:
    import signal

    from dibs.mcp.serving import serve

    ended_by = serve(desk, lambda line: warn(f"dibs: {line}"))
    return INTERRUPTED if ended_by == signal.SIGINT else DONE


_DESCRIPTION = """\
Serve queues to coding agents and other clients of the Model Context Protocol, over standard input and output. The \
client starts this command itself; its tools list, show, explain, add, claim, renew, complete, fail, release and \
count tasks.
A task that the client claims is renewed while its session lives, and goes back to the queue when that ends, however \
it ends. Only the queues named here, or else those of dibs.toml, can be used.
"""

_EXAMPLES = """
Examples:
  dibs mcp                                 # the queues of dibs.toml, or else the default queue
  dibs mcp queues/scrape
  dibs mcp scrape s3://bucket/queues/shared
  dibs mcp --any-queue
  dibs mcp queues/scrape --json            # what would be served

In the configuration of a client:
  {
    "mcpServers": {
      "dibs": {"command": "dibs", "args": ["mcp", "file:/home/pi/queues/scrape"]}
    }
  }
"""
