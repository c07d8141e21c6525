"""Reading payloads and task records from arguments, files and standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import IO, Any

from dibs import config
from dibs.cli.arguments import moment_of
from dibs.cli.exits import USAGE, CommandError
from dibs.errors import BadInput
from dibs.task import NewTask, decode

# What may stand in a record, and what it may be.
_RECORD: dict[str, tuple[type, ...]] = {
    "payload": (object,),
    "key": (str,),
    "unique": (str,),
    "priority": (int, str),
    "project": (str,),
    "labels": (list,),
    "delay": (int, float, str),
    "at": (int, float, str),
    "after": (list,),
    "max_attempts": (int,),
    "max_deaths": (int,),
    "max_runtime": (int, float, str),
    "backoff": (int, float, str),
    "max_backoff": (int, float, str),
}
_DURATIONS = ("delay", "max_runtime", "backoff", "max_backoff")


def read_text(given: str) -> str:
    """The argument itself, or standard input for `-`, without its last line break."""
    if given != "-":
        return given
    try:
        return _stdin().read().decode().removesuffix("\n")
    except UnicodeDecodeError as error:
        raise BadInput(f"standard input is not UTF-8 text: {error}") from None


def read_json(given: str, what: str) -> Any:
    """JSON from the argument, or from standard input for `-`."""
    try:
        return decode(_stdin().read() if given == "-" else given.encode(errors="surrogateescape"))
    except BadInput as error:
        source = "standard input" if given == "-" else f"{what} {_short(given)}"
        remedy = "--text, if it is plain text" if what == "PAYLOAD" else ""
        raise CommandError(f"{source} is {error}", remedy, USAGE) from None


def read_lines(path: str) -> Iterator[tuple[int, bytes]]:
    """(line number, line) of a file, or of standard input for `-`; empty lines are left out."""
    try:
        file = _stdin() if path == "-" else open(path, "rb")  # noqa: SIM115
        with file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line
    except OSError as error:
        raise CommandError(f"cannot read {path}: {error.strerror}") from None


def task_of_line(line: bytes, *, text: bool, records: bool, defaults: dict[str, Any]) -> NewTask:
    """The task that a line describes. BadInput when it describes none."""
    if text:
        try:
            return NewTask(**{**defaults, "payload": line.decode().rstrip("\r\n")})
        except UnicodeDecodeError as error:
            raise BadInput(f"not UTF-8 text: {error}") from None
    value = decode(line)
    return NewTask(**{**defaults, **_record(value)}) if records else NewTask(**{**defaults, "payload": value})


def _record(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadInput('no record; with --records a line is an object such as {"payload": …, "key": …}')
    record: dict[str, Any] = {}
    for name, item in value.items():
        if name not in _RECORD:
            raise BadInput(f"a record with {name!r}, which is not known; known: {', '.join(_RECORD)}")
        if item is None and name != "payload":
            continue
        if not isinstance(item, _RECORD[name]) or (isinstance(item, bool) and name != "payload"):
            kinds = " or ".join(kind.__name__ for kind in _RECORD[name])
            raise BadInput(f"a record whose {name} is {_short(repr(item))}; use {kinds}")
        record[name] = item
        if name in _DURATIONS:
            record[name] = config.duration(record[name])
        elif name == "at" and isinstance(item, str):
            record[name] = moment_of(item)
    return record


def _stdin() -> IO[bytes]:
    if sys.stdin is None:
        raise CommandError("standard input is closed; there is nothing to read")
    return sys.stdin.buffer


def _short(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
