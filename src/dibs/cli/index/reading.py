"""get, scan, sql: what comes out. Inbox and shards together, as they are now."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import Any

from dibs.cli.exits import DONE, FAILED, USAGE, CommandError
from dibs.cli.index.choosing import chosen_keys, names_in, no_words, opened, words
from dibs.cli.index.target import target
from dibs.cli.output import clean, emit, warn
from dibs.cli.tables import pairs
from dibs.index.index import Index
from dibs.redact import redact


def _get(args: Namespace) -> int:
    keys = chosen_keys(args)
    found = 0
    with opened(args) as index:
        for key in keys:
            record = index.get(key)
            if record is None:
                warn(f"dibs: there is no {key!r}")
                continue
            found += 1
            if args.json or len(keys) > 1:
                emit(record)
            else:
                print("\n".join(pairs([(clean(name), value) for name, value in record.items()])))
        return max(told(index), DONE if found == len(keys) else FAILED)


def _scan(args: Namespace) -> int:
    no_words(args)
    if args.json and args.format != "jsonl":
        raise CommandError(f"scan: --json and --format {args.format} exclude each other", "give one of them", USAGE)
    chosen: dict[str, Any] = {
        "prefix": args.prefix or "",
        "where": args.where or (),
        "columns": names_in(args.columns),
    }
    from dibs.index.formats import write

    with opened(args) as index, target(args.output) as file:
        write(index, "jsonl" if args.json else args.format, file, **chosen)
        return told(index)


def told(index: Index) -> int:
    """Say what could not be read; the exit code is 1 then."""
    for damage in index.damages:
        if damage.why:
            warn(f"dibs: {damage.path} is left out: {redact(damage.why)}")
        else:
            warn(f"dibs: {damage.path} is damaged: {damage.left}; see dibs index verify")
    return FAILED if index.damages else DONE


def _sql(args: Namespace) -> int:
    from dibs.index.tables import query_errors

    (query,) = words(args, "the query", most=1)
    with opened(args) as index:
        answer = index.sql(query)
        if answer is None:
            return told(index)
        names = list(answer.columns)
        with query_errors():
            rows = answer.fetchall()
        for row in rows:
            emit(dict(zip(names, map(_plain, row), strict=True)))
        return told(index)


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


ACTIONS: dict[str, Callable[[Namespace], int]] = {"get": _get, "scan": _scan, "sql": _sql}
