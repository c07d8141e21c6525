"""merge-driver: called by git for each spec that both sides changed; see `dibs.specs.driver`."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable
from contextlib import suppress

from dibs.cli.exits import DONE, FAILED, USAGE, CommandError
from dibs.cli.output import emit
from dibs.specs.merging import merge
from dibs.specs.statuses import rank


def _merge_driver(args: Namespace) -> int:
    """The result takes the place of ours, or nothing is changed."""
    if len(args.words) not in (3, 4):
        raise CommandError("merge-driver: give base, ours, theirs and the path", "dibs specs init", USAGE)
    base, ours, theirs = map(_read, args.words[:3])
    merged, conflicts = merge(base, ours, theirs, rank)
    target = args.words[1]
    spare = f"{target}.{os.getpid()}.tmp"
    try:
        with open(spare, "wb") as file:
            file.write(merged)
        os.replace(spare, target)
    except OSError:
        with suppress(OSError):
            os.unlink(spare)
        raise
    if args.json:
        emit({"path": args.words[-1], "conflicts": conflicts})
    return FAILED if conflicts else DONE


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise CommandError(f"merge-driver: {path} cannot be read: {error.strerror}", "git merge", USAGE) from error


ACTIONS: dict[str, Callable[[Namespace], int]] = {"merge-driver": _merge_driver}
