"""migrate: create the tables of a queue in a database, or update them."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from importlib import import_module

from dibs.cli.arguments import add_json, add_queue
from dibs.cli.exits import DONE, USAGE, CommandError
from dibs.cli.output import emit
from dibs.cli.place import find
from dibs.queues import BACKENDS, split_url

_WITH_TABLES = ("postgres", "postgresql")


def configure(parser: ArgumentParser, command: str) -> None:
    parser.description = (
        "Create the tables that a queue in PostgreSQL needs, or update those of an older version. It can be run again, "
        "and by several at the same time. The first push and the first worker create tables that are missing; an older "
        "version is changed by this command only."
    )
    parser.epilog = """
Examples:
  dibs migrate postgres://app@db.example.com/app
  dibs migrate 'postgres://app@db.example.com/app?schema=jobs'
"""
    add_queue(parser)
    add_json(parser)


def run(args: Namespace, command: str) -> int:
    from urllib.parse import parse_qsl

    url = find(args.queue, args.queue_type).url
    scheme, path, query = split_url(url)
    if scheme not in _WITH_TABLES:
        raise CommandError(f"{scheme}: has no tables to migrate", "a postgres: URL", USAGE)
    _, module, name = BACKENDS[scheme]
    backend = getattr(import_module(module), name)
    before, version = backend.migrate(url, path, dict(parse_qsl(query, keep_blank_values=True)))
    if args.json:
        emit({"before": before, "version": version})
    elif before == version:
        print(f"up to date (version {version})")
    else:
        print(f"migrated from version {before} to {version}" if before else f"created (version {version})")
    return DONE
