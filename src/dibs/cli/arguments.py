"""Arguments that several commands share, and how their values are read."""

from __future__ import annotations

from dibs import config
from dibs.errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from argparse import Namespace
    from collections.abc import Callable
    from typing import Any


def add_queue(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """The QUEUE argument and what goes with it. It may be left out only where nothing else is positional."""
    where = "a name in dibs.toml, a URL or a path; . is the default queue"
    parser.add_argument("queue", metavar="QUEUE", nargs="?" if optional else None, help=where)
    add_queue_type(parser)


def add_queue_type(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--queue-type", metavar="TYPE", help="the provider of a queue that is given as a plain path")


def add_json(parser: argparse.ArgumentParser, what: str = "one JSON object on stdout") -> None:
    parser.add_argument("--json", action="store_true", help=what)


def add_filters(parser: argparse.ArgumentParser, *, priority: bool = True) -> None:
    parser.add_argument("--project", metavar="NAME", help="only tasks of this project")
    parser.add_argument(
        "--label", metavar="LABEL", action="append", help="only tasks with this label; given twice, with both"
    )
    if priority:
        parser.add_argument("--max-priority", metavar="N", type=priority_value, help="only up to this priority")


def filters(args: Namespace) -> dict[str, Any]:
    chosen: dict[str, Any] = {"project": args.project, "labels": tuple(args.label or ())}
    if getattr(args, "max_priority", None) is not None:
        chosen["max_priority"] = args.max_priority
    return chosen


def reader(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """`read` for use as an argument's type: what it says about a bad value reaches the user."""

    def typed(text: str) -> Any:
        try:
            return read(text)
        except BadInput as error:
            from argparse import ArgumentTypeError

            raise ArgumentTypeError(str(error)) from None

    return typed


def moment_of(text: str) -> float:
    from dibs.clock import parse_time

    try:
        return parse_time(text)
    except (ValueError, OverflowError, OSError):
        raise BadInput(
            f"time {text!r} is not ISO 8601; write 2030-01-31T08:00:00Z or 2030-01-31T08:00 (local)"
        ) from None


def _wait(text: str) -> float | str:
    return text if text == "forever" else config.duration(text)


def _process(text: str) -> int:
    import os

    pid = config.count(text)
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        raise BadInput(f"process {text} does not run here, so a lease of its own would be over at once") from None
    except PermissionError:
        pass  # it runs, as another user
    return pid


def _priority(text: str) -> int:
    from dibs.task import priority_of

    return priority_of(text)


def _whole(text: str) -> int:
    if text.isascii() and text.isdigit():
        return int(text)
    raise BadInput(f"number {text!r} is not acceptable; write a whole number from 0")


duration = reader(config.duration)
count = reader(config.count)
whole = reader(_whole)
moment = reader(moment_of)
process = reader(_process)
wait = reader(_wait)
priority_value = reader(_priority)
