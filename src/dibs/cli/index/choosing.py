"""From the arguments to an open index, and from text to names."""

from __future__ import annotations

from argparse import Namespace

from dibs.cli.exits import USAGE, CommandError
from dibs.index.index import Index

SETTLED = ("shards", "merge", "keys", "stamps")


def opened(args: Namespace, *, create: bool = False, url: str | None = None) -> Index:
    """The index that the arguments name. One in memory is refused: with the command it would be gone."""
    url = url or args.url
    if url.partition(":")[0].lower() == "memory":
        raise CommandError("memory: lives inside one process", "a path, such as indexes/domains", USAGE)
    settled = {name: getattr(args, name) for name in SETTLED if getattr(args, name) is not None}
    return Index(url, key=args.key_field, time=args.time_field, create=create, **settled)


def names_in(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def words(args: Namespace, what: str, *, most: int | None = None) -> list[str]:
    """The words after the URL. `what` they are is said when there are none, or too many."""
    found: list[str] = args.words
    if not found or (most is not None and len(found) > most):
        problem = "is missing" if not found else f"is {len(found)} words"
        raise CommandError(f"index {args.action}: {what} {problem}", f"dibs index {args.action} URL …", USAGE)
    return found


def chosen_keys(args: Namespace) -> list[str]:
    """Given as words, or by --key as `put` takes it."""
    return words(args, "the key") if args.key is None else [args.key, *args.words]


def no_words(args: Namespace, example: str | None = None) -> None:
    if args.words:
        raise CommandError(
            f"index {args.action}: {args.words[0]!r} is one word too many",
            example or f"dibs index {args.action} {args.url}",
            USAGE,
        )
