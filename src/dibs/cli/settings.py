"""config and completions."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from dibs import config
from dibs.cli.arguments import add_json, add_queue_type
from dibs.cli.exits import DONE
from dibs.cli.output import clean, emit
from dibs.cli.place import find
from dibs.cli.tables import table
from dibs.redact import redact

SHELLS = ("bash", "zsh", "fish")


def configure(parser: ArgumentParser, command: str) -> None:
    parser.description, parser.epilog = _WORDS[command]
    if command == "completions":
        parser.add_argument("shell", choices=SHELLS, help="the shell to print the script for")
        add_json(parser, "the script as one JSON object on stdout: shell, script")
        return
    parser.add_argument("queue", metavar="QUEUE", nargs="?", help="the settings that apply to this queue, and its URL")
    add_queue_type(parser)
    parser.add_argument("--names", action="store_true", help="only the names of the queues in dibs.toml, one a line")
    add_json(parser)


def run(args: Namespace, command: str) -> int:
    return _completions(args) if command == "completions" else _config(args)


def _completions(args: Namespace) -> int:
    from dibs.cli.completions import script

    text = script(args.shell)
    if args.json:
        emit({"shell": args.shell, "script": text})
    else:
        print(text, end="")
    return DONE


def _config(args: Namespace) -> int:
    loaded = config.load()
    if args.names:
        for name in loaded.queues:
            print(clean(name))
        return DONE
    place = find(args.queue, args.queue_type, loaded)
    found = {
        name: loaded.setting(name, place.name, args.queue_type if name == "queue_type" else None)
        for name in config.SETTINGS
    } | {"queue.backend": loaded.backend(), **{f"daemon.{name}": loaded.daemon_setting(name) for name in config.DAEMON}}
    queues = {name: redact(loaded.url(name)) for name in loaded.queues}
    if args.json:
        emit(
            {
                "file": loaded.path,
                "url": redact(place.url),
                "settings": {name: {"value": _shown(one.value), "from": one.source} for name, one in found.items()},
                "queues": {name: {"url": url} for name, url in queues.items()},
            }
        )
        return DONE
    rows = [(name, _human(one.value, name), one.source) for name, one in found.items()]
    print(*table(("SETTING", "VALUE", "FROM"), rows), sep="\n")
    print(f"\nqueue {'in use' if args.queue is None else args.queue}: {clean(redact(place.url))}")
    print(f"dibs.toml: {clean(loaded.path) if loaded.path else 'none, from here upwards'}")
    if queues:
        print("", *table(("NAME", "URL"), list(queues.items())), sep="\n")
    return DONE


def _shown(value: Any) -> Any:
    return redact(value) if isinstance(value, str) else value


def _human(value: Any, name: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}" if name == "daemon.rate" else config.duration_text(value)
    if isinstance(value, tuple):
        return ", ".join(value)
    return "" if value is None else redact(str(value))


_WORDS = {
    "config": (
        "Show each setting and where it came from: a flag, the environment (DIBS_ and the name in capitals), "
        "dibs.toml (found here or upwards), or the default; in that order. With QUEUE, the settings that apply to it. "
        "Passwords and keys in URLs are not shown.",
        """
Examples:
  dibs config
  dibs config scrape
  dibs config --json | jq .settings.ttl
  DIBS_TTL=5m dibs config

dibs.toml:
  queue = "scrape"                      # the queue that . means; or a table: [queue] backend = "lmdb"
  ttl = "5m"

  [queues.scrape]
  url = "queues/scrape"                 # a path is relative to dibs.toml
  max_attempts = 5

  [queues.tiles]
  url = "dir:${TILES}?done=done"        # ${NAME} is taken from the environment

  [queues.mail]
  url = "${DATABASE_URL}"               # postgres://… or redis://…: the queue is called mail there too
  pool_size = 5                         # so may queue, schema, prefix, pooler, retention, region, endpoint
""",
    ),
    "completions": (
        "Print a script that completes commands, options and the names of queues.",
        """
Examples:
  source <(dibs completions bash)
  dibs completions bash > ~/.local/share/bash-completion/completions/dibs
  dibs completions zsh > ~/.zfunc/_dibs              # with fpath+=~/.zfunc before compinit
  dibs completions fish > ~/.config/fish/completions/dibs.fish
""",
    ),
}
