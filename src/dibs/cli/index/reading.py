"""get, scan, sql: what comes out. Inbox and shards together, as they are now."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import IO, Any

from dibs.cli.exits import DONE, FAILED, CommandError
from dibs.cli.index.choosing import chosen_keys, names_in, no_words, opened, words
from dibs.cli.output import clean, emit, warn
from dibs.cli.tables import pairs
from dibs.index.index import Index


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
        return _told(index) if found == len(keys) else FAILED


def _scan(args: Namespace) -> int:
    no_words(args)
    chosen: dict[str, Any] = {
        "prefix": args.prefix or "",
        "where": args.where or (),
        "columns": names_in(args.columns),
    }
    from dibs.index.formats import write

    with opened(args) as index, _target(args.output) as file:
        write(index, "jsonl" if args.json else args.format, file, **chosen)
        return _told(index)


def _told(index: Index) -> int:
    """Say what could not be read; the exit code is 1 then."""
    for damage in index.damages:
        warn(f"dibs: {damage.path} is damaged: {damage.bad} bad records left out; see dibs index verify")
    return FAILED if index.damages else DONE


def _target(path: str | None) -> AbstractContextManager[IO[bytes]]:
    if path is not None:
        try:
            return open(path, "wb")
        except OSError as error:
            raise CommandError(f"cannot write {path}: {error.strerror}") from None
    if sys.stdout is None:
        raise CommandError("standard output is closed; the result cannot be written")
    sys.stdout.flush()
    return nullcontext(sys.stdout.buffer)


def _sql(args: Namespace) -> int:
    (query,) = words(args, "the query", most=1)
    with opened(args) as index:
        answer = index.sql(query)
        if answer is None:
            return _told(index)
        names = list(answer.columns)
        for row in answer.fetchall():
            emit(dict(zip(names, map(_plain, row), strict=True)))
        return _told(index)


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


ACTIONS: dict[str, Callable[[Namespace], int]] = {"get": _get, "scan": _scan, "sql": _sql}
