"""create, put, delete: what goes in."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from dibs.cli.exits import DONE, USAGE, CommandError
from dibs.cli.index.choosing import chosen_keys, names_in, no_words, opened
from dibs.cli.output import emit, say
from dibs.cli.payloads import read_lines
from dibs.errors import BadInput
from dibs.index.root import Root
from dibs.task import decode


def _create(args: Namespace) -> int:
    no_words(args)
    with opened(args, create=True) as index:
        index.site.insist([*index.names, *names_in(args.fields)])
        settled: Root = index.site.root
        if args.json:
            emit({"url": index.site.url, "fields": list(index.schema.shown), **settled._asdict()})
        else:
            say(f"{index.site.url}: {settled.shards} shards, fields {', '.join(index.schema.shown)}")
    return DONE


def _put(args: Namespace) -> int:
    example = f"dibs index put {args.url} --key KEY --field NAME=VALUE"
    no_words(args, example)
    if (args.key is None) == (args.jsonl is None):
        raise CommandError("put: give --key, or --jsonl", example, USAGE)
    with opened(args, create=True) as index:
        if args.jsonl is not None:
            if args.field or args.updated_at:
                raise CommandError("put: --field and --updated-at go with --key, not with --jsonl", "", USAGE)
            count = index.put_many(_records(args.jsonl), sparse=args.sparse)
        else:
            index.put(args.key, _fields(args.field or ()), updated_at=args.updated_at, sparse=args.sparse)
            count = 1
    emit({"put": count}) if args.json else say(f"put {count:,}")
    return DONE


def _delete(args: Namespace) -> int:
    keys = chosen_keys(args)
    with opened(args) as index:
        for key in keys:
            index.delete(key, updated_at=args.updated_at)
    emit({"deleted": len(keys)}) if args.json else say(f"deleted {len(keys):,}")
    return DONE


def _fields(texts: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in map(_field, texts):
        if name in found:
            raise BadInput(f"field {name!r} is given twice; give it once")
        found[name] = value
    return found


def _field(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise BadInput(f"field {text!r} has no value; write NAME=VALUE")
    return name, value


def _records(path: str) -> Iterator[dict[str, Any]]:
    for number, line in read_lines(path):
        try:
            record = decode(line)
        except BadInput as error:
            raise BadInput(f"line {number} of {path}: {error}") from None
        if not isinstance(record, dict):
            raise BadInput(f'line {number} of {path} is no record; write an object such as {{"key": "example.com"}}')
        yield record


ACTIONS: dict[str, Callable[[Namespace], int]] = {"create": _create, "put": _put, "delete": _delete}
