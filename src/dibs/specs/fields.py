"""The fields that dibs knows: what their values may be, and what they mean.

`values_of` checks them and keeps the rest under `more`. A field of the wrong type is a BadSpec that names the field
and its line.
"""

import re
from collections.abc import Callable
from typing import Any

from dibs.errors import BadInput
from dibs.specs.badspec import BadSpec
from dibs.specs.fences import BOM
from dibs.specs.frontmatter import body, read
from dibs.specs.ids import SUFFIX, fault_of
from dibs.specs.statuses import BY_TEXT, Status
from dibs.task import CENTURY, PRIORITIES, priority_of

TITLE_CHARACTERS = 500


def values_of(data: bytes) -> dict[str, Any]:
    """The checked fields of a file that differ from their defaults, unknown ones under `more`."""
    fields = read(data)
    if not fields and data.removeprefix(BOM)[:3] != b"---":
        raise BadSpec("has no frontmatter; begin it with the lines `---`, `status: pending`, `---`", 1)
    values: dict[str, Any] = {}
    more: dict[str, Any] = {}
    for name, value in fields.items():
        reading = READINGS.get(name)
        if reading is None:
            more[name] = value
        elif value is not None:
            try:
                values[name] = reading(value)
            except BadInput as error:
                raise BadSpec(f"{name}: {error}", line_of(data, name)) from None
    if more:
        values["more"] = more
    if title := title_of(body(data)):
        values["title"] = title
    return values


def line_of(data: bytes, name: str) -> int | None:
    """The line on which a top-level field stands."""
    found = re.search(rb"^[\"']?" + re.escape(name.encode()) + rb"[\"']?[ \t]*:", data, re.MULTILINE)
    return None if found is None else data.count(b"\n", 0, found.start()) + 1


def title_of(data: bytes, start: int = 0) -> str:
    """The first `# ` heading outside a code block, in what follows `start`, where a line begins; or nothing."""
    if data.startswith(b"# ", start):
        heading = start + 2
    elif (heading := data.find(b"\n# ", start) + 3) == 2:
        return ""
    elif data.find(b"```", start, heading) >= 0 or data.find(b"~~~", start, heading) >= 0:
        return title_of(_without_code(data[start:]))
    end = data.find(b"\n", heading)
    title = data[heading : end if end >= 0 else None].decode(errors="replace").strip()
    if title[-1:] == "#":
        bare = title.rstrip("#")
        title = bare.rstrip() if bare[-1:] in ("", " ") else title
    return title[:TITLE_CHARACTERS]


def _without_code(text: bytes) -> bytes:
    kept = []
    fence = b""
    for line in text.split(b"\n"):
        if not fence and (opening := _FENCE.match(line)):
            fence = opening[0]
        elif not fence:
            kept.append(line)
        elif line.startswith(fence) and not line.strip(fence[:1] + b" \t\r"):
            fence = b""
    return b"\n".join(kept)


_FENCE = re.compile(rb"```+|~~~+")


def _text(value: Any) -> str:
    if type(value) is not str:
        raise BadInput(f"{_shown(value)} is {_kind(value)}, not text; put it in quotes")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if type(value) is str:
        return (value,)
    if type(value) is not list:
        raise BadInput(f"{_shown(value)} is {_kind(value)}; use one text or a list of texts")
    for item in value:
        if type(item) is not str:
            raise BadInput(f"{_shown(item)} is {_kind(item)}, not text; put it in quotes")
    return tuple(dict.fromkeys(value)) if len(value) > 1 else tuple(value)


def _refs(value: Any) -> tuple[str, ...]:
    """Whole ids, with or without the suffix."""
    refs = _texts(value)
    cut = False
    for ref in refs:
        if ref.endswith(SUFFIX):
            cut = True
            ref = ref.removesuffix(SUFFIX)
        if fault := fault_of(ref):
            raise BadInput(f"{_shown(ref)} {fault}; use the name of a file in this folder")
    return tuple(dict.fromkeys([ref.removesuffix(SUFFIX) for ref in refs])) if cut else refs


def _number_from(low: int) -> Callable[[Any], int]:
    def number(value: Any) -> int:
        if type(value) is not int or value < low:
            raise BadInput(f"{_shown(value)} is not a whole number from {low}")
        return value

    return number


def _seconds_from(low: float) -> Callable[[Any], float]:
    def seconds(value: Any) -> float:
        if (type(value) is not int and type(value) is not float) or not low <= value <= CENTURY:
            raise BadInput(f"{_shown(value)} is not a number of seconds from {low:g}")
        return float(value)

    return seconds


def _status(value: Any) -> Status:
    status = BY_TEXT.get(value) if type(value) is str else None
    if status is None:
        raise BadInput(f"{_shown(value)} is not a status; use one of {', '.join(Status)}")
    return status


def _priority(value: Any) -> int:
    if type(value) is str and value in PRIORITIES:
        return PRIORITIES[value]
    if type(value) is not int and type(value) is not str:
        raise BadInput(f"{_shown(value)} is {_kind(value)}; use a whole number, low, normal, high or critical")
    return priority_of(value)


def _approval(value: Any) -> str | None:
    """A word, or a mapping with `required` and `status`."""
    if type(value) is dict:
        required = value.get("required", True)
        if type(required) is not bool:
            raise BadInput(f"required: {_shown(required)} is neither true nor false")
        value = value.get("status") or "pending" if required else "none"
    word = _APPROVALS.get(value) if type(value) is str else None
    if word is None:
        raise BadInput(f"{_shown(value)} is not clear; use required, approved, rejected or none")
    return word or None


_APPROVALS = {"none": "", "required": "pending", "pending": "pending", "approved": "approved", "rejected": "rejected"}


def moment(value: Any) -> float:
    """Seconds since 1970. Without a zone it is UTC: the file is read in many places."""
    if type(value) is int or type(value) is float:
        if not 0 <= value <= 1e11:
            raise BadInput(f"{_shown(value)} is not a time; use 2026-11-16T09:00:00Z")
        return float(value)
    from datetime import UTC, datetime

    text = _text(value).strip()
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise BadInput(f"{_shown(value)} is not a time; use 2026-11-16T09:00:00Z") from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), "not text")


_KINDS = {int: "a number", float: "a number", bool: "true or false", list: "a list", dict: "a mapping"}

READINGS: dict[str, Callable[[Any], Any]] = {
    "status": _status,
    "priority": _priority,
    "depends_on": _refs,
    "members": _refs,
    "labels": _texts,
    "project": _text,
    "type": _text,
    "approval": _approval,
    "started_by": _text,
    "started_at": _text,
    "completed_at": _text,
    "attempts": _number_from(0),
    "max_attempts": _number_from(1),
    "max_deaths": _number_from(1),
    "max_runtime": _seconds_from(0.001),
    "backoff": _seconds_from(0),
    "max_backoff": _seconds_from(0),
    "epoch": _number_from(0),
    "error": _text,
    "not_before": moment,
}
"""Every field that dibs knows, with how its value is read. BadInput when it cannot be."""
