"""A command line with placeholders, filled in from a task. No shell is involved, ever.

`{id}`, `{key}`, `{epoch}`, `{attempt}`, `{priority}`, `{project}`, `{labels}`, `{queue}`, `{payload}` (JSON, or
the text itself when it is a string), `{payload.url}`, `{payload.items.0}`, and `{}`: the payload when it is
a string, its `path` when it has one (`dir:` queues), else as JSON. `{{` and `}}` are plain braces;
braces around anything that is no name stay as they are.
"""

import json
import re
from collections.abc import Callable, Sequence
from shutil import which
from typing import Any

from dibs.errors import BadInput
from dibs.queues.held import Lease

_PART = re.compile(r"\{\{|\}\}|\{([A-Za-z_][\w-]*(?:\.[^{}\s]+)?|)\}")
_NAMES: dict[str, Callable[[Lease], Any]] = {
    "": lambda lease: _main(lease.task.payload),
    "id": lambda lease: lease.task.id,
    "key": lambda lease: lease.task.key or "",
    "epoch": lambda lease: lease.epoch,
    "attempt": lambda lease: lease.task.attempts + 1,
    "priority": lambda lease: lease.task.priority,
    "project": lambda lease: lease.task.project or "",
    "labels": lambda lease: ",".join(lease.task.labels),
    "queue": lambda lease: lease.queue.url,
    "payload": lambda lease: lease.task.payload,
}


def check_command(command: Sequence[str]) -> None:
    """BadInput when a placeholder can never be filled in."""
    if not command or not command[0]:
        raise BadInput("there is no command; write it after --, for example: dibs work QUEUE -- ./job {payload.url}")
    for part in command:
        for name in _PART.findall(part):
            head, _, rest = name.partition(".")
            if head not in _NAMES or (rest and head != "payload"):
                known = " ".join(f"{{{known}}}" for known in _NAMES)
                raise BadInput(
                    f"placeholder {{{name}}} in {part!r} is not known; known: {known} {{payload.FIELD}} "
                    f"(write {{{{{name}}}}} for plain braces)"
                )
    if "{" not in command[0] and which(command[0]) is None:
        raise BadInput(f"command {command[0]!r} is not there, or not executable; look at its path and mode")


def fill(command: Sequence[str], lease: Lease) -> list[str]:
    """The arguments for one task; BadInput when its payload lacks a field that is asked for."""

    def value(match: re.Match[str]) -> str:
        if match[0] in ("{{", "}}"):
            return match[0][0]
        head, _, rest = match[1].partition(".")
        found = _NAMES[head](lease)
        return text(_field(found, rest) if rest else found)

    argv = [_PART.sub(value, part) for part in command]
    for part, template in zip(argv, command, strict=True):
        if "\0" in part:
            raise BadInput(f"argument {template!r} cannot hold a NUL character; pass it on stdin instead")
    return argv


def variables(lease: Lease) -> dict[str, str]:
    """The environment variables of a task."""
    task = lease.task
    payload = text(task.payload)
    found = {
        "DIBS_ID": task.id,
        "DIBS_KEY": task.key or "",
        "DIBS_EPOCH": str(lease.epoch),
        "DIBS_ATTEMPT": str(task.attempts + 1),
        "DIBS_PRIORITY": str(task.priority),
        "DIBS_PROJECT": task.project or "",
        "DIBS_LABELS": ",".join(task.labels),
        "DIBS_QUEUE": lease.queue.url,
        "DIBS_WORKER": lease.worker,
    }
    if len(payload) < 30_000:  # the kernel allows 128 KiB a variable; stdin has it whatever its size
        found["DIBS_PAYLOAD"] = payload
    return {name: value for name, value in found.items() if "\0" not in value}


def text(value: Any) -> str:
    """A string as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _main(payload: Any) -> Any:
    if isinstance(payload, dict) and isinstance(payload.get("path"), str):
        return payload["path"]
    return payload


def _field(value: Any, path: str) -> Any:
    walked = "payload"
    for step in path.split("."):
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            raise BadInput(f"placeholder {{payload.{path}}}: {walked} has no {step!r}; push it, or change the command")
        walked += f".{step}"
    return value
