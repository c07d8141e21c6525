"""What a task is: the values that travel between user, queue and worker.

A `NewTask` is what somebody asks for; `make_task` checks it and gives it an id. A `Task` is the
same thing in a queue, with where it stands now. Both are plain values; the record of a task
(`to_record`) never changes after push but for its priority, only its cell does (see `states`).
"""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dibs.clock import Clock
from dibs.errors import BadInput
from dibs.states import Cell, State
from dibs.values import dataclass, field_names, replace

PRIORITIES = {"low": 0, "normal": 50, "high": 100, "critical": 200}
PRIORITY_LIMIT = 9999
MAX_KEY_BYTES = 1024
MAX_LABEL_BYTES = 128
MAX_DEPTH = 256
CENTURY = 100 * 365.25 * 86400


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTask:
    """A task to push. Only `payload` is usual; the rest has defaults."""

    payload: Any = None
    key: str | None = None
    unique: str = "live"  # a key is unique among "live" tasks, or among "completed" ones too
    priority: int | str = 50
    project: str | None = None
    labels: Sequence[str] = ()
    delay: float = 0.0  # seconds from now, on the store's clock
    at: float | None = None  # or an absolute time, seconds since 1970
    after: Sequence[str] = ()  # ids or keys that must be completed first
    max_attempts: int = 3
    max_deaths: int = 5
    max_runtime: float | None = None
    backoff: float = 1.0  # seconds before the first retry; doubles, with jitter
    max_backoff: float = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task in a queue."""

    id: str
    payload: Any = None
    key: str | None = None
    unique: str = "live"
    priority: int = 50
    project: str | None = None
    labels: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    not_before: float | None = None
    max_attempts: int = 3
    max_deaths: int = 5
    max_runtime: float | None = None
    backoff: float = 1.0
    max_backoff: float = 3600.0
    pushed_at: float = 0.0
    state: State = State.READY
    epoch: int = 0
    attempts: int = 0
    deaths: int = 0
    duplicate: bool = False  # from push: the key was already taken, and this is the task that has it

    def standing(self, cell: Cell) -> "Task":
        """The same task with the state and counters of `cell`."""
        now = (cell.state, cell.epoch, cell.attempts, cell.deaths)
        if (self.state, self.epoch, self.attempts, self.deaths) == now:
            return self
        return replace(self, state=cell.state, epoch=cell.epoch, attempts=cell.attempts, deaths=cell.deaths)

    def to_record(self) -> dict[str, Any]:
        """What is stored: the id, the payload and every field that differs from its default."""
        record: dict[str, Any] = {"id": self.id, "payload": self.payload}
        for name, default in _STORED.items():
            value = getattr(self, name)
            if value != default:
                record[name] = value
        return record

    def to_json(self) -> dict[str, Any]:
        """Every field, for `--json` output."""
        return {name: getattr(self, name) for name in self.__slots__ if name != "duplicate"}


_STANDING = {"id", "payload", "state", "epoch", "attempts", "deaths", "duplicate"}
_RECORD = set(field_names(Task)) - _STANDING | {"id", "payload"}
_PLAIN_RECORD = {"id", "payload", "pushed_at"}
_NUMBER = (int, float)
_TYPES: dict[str, Any] = {
    "key": str,
    "unique": str,
    "priority": int,
    "project": str,
    "labels": (list, tuple),
    "after": (list, tuple),
    "not_before": _NUMBER,
    "max_attempts": int,
    "max_deaths": int,
    "max_runtime": _NUMBER,
    "backoff": _NUMBER,
    "max_backoff": _NUMBER,
    "pushed_at": _NUMBER,
}
_BLANK = Task(id="")
_STORED = {name: getattr(_BLANK, name) for name in field_names(Task) if name not in _STANDING}


def checked_record(value: Any) -> dict[str, Any]:
    """The record of a task as it was read: BadInput when it is none. Fields of a later version are dropped."""
    if type(value) is not dict or type(value.get("id")) is not str or "payload" not in value:
        raise BadInput("not a task record: it needs an id and a payload")
    record: dict[str, Any] = value
    if not record.keys() <= _PLAIN_RECORD:  # most tasks have nothing more
        record = {name: value for name, value in record.items() if name in _RECORD}
        for name, value in record.items():
            if name in _TYPES and not isinstance(value, _TYPES[name]):
                raise BadInput(f"not a task record: its {name} is {value!r}")
        for name in ("labels", "after"):
            if name in record:
                if not all(isinstance(item, str) for item in record[name]):
                    raise BadInput(f"not a task record: its {name} are {record[name]!r}")
                record[name] = tuple(record[name])
    return record


def task_from_record(record: Any, cell: Cell = Cell(State.READY)) -> Task:  # noqa: B008
    """Raises BadInput when the record is not a task's."""
    return Task(
        state=cell.state, epoch=cell.epoch, attempts=cell.attempts, deaths=cell.deaths, **checked_record(record)
    )


def encode(value: Any) -> bytes:
    """JSON, compact, one line, UTF-8. BadInput says why a value cannot be written so that anybody can read it."""
    try:
        data = _dump(value).encode() + b"\n"
        if data.count(b"[") + data.count(b"{") > MAX_DEPTH and _depth(value) > MAX_DEPTH:
            raise RecursionError
        return data
    except RecursionError:
        raise BadInput(f"payload is nested too deep ({MAX_DEPTH} levels at most); flatten it") from None
    except (TypeError, ValueError) as error:
        raise BadInput(f"payload is not JSON: {error}; use dicts, lists, strings, numbers, booleans, null") from None


_dump = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
# What json.loads does, without its guesses about encoding.
_scan: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


def decode(data: bytes | str) -> Any:
    """BadInput when `data` is not JSON."""
    try:
        text = data if isinstance(data, str) else data.decode()
        value, end = _scan(text, 0 if text[:1] == "{" else len(text) - len(text.lstrip()))
        if text[end:] not in ("\n", "") and not text[end:].isspace():
            raise ValueError(f"more after the value, at character {end}")
        return value
    except RecursionError:
        raise BadInput("JSON is nested too deep to read") from None
    except StopIteration as stop:
        raise BadInput(f"not JSON: no value at character {stop.value}") from None
    except ValueError as error:
        raise BadInput(f"not JSON: {error}") from None


def _depth(value: Any) -> int:
    deepest = 0
    stack = [(value, 1)]
    while stack:
        node, depth = stack.pop()
        if isinstance(node, dict | list | tuple):
            deepest = max(deepest, depth)
            stack.extend((child, depth + 1) for child in (node.values() if isinstance(node, dict) else node))
    return deepest


def new_id(clock: Clock) -> str:
    """A UUIDv7 in 32 hex digits: sorts by time to a quarter of a microsecond, never repeats."""
    ticks = int(clock.wall() * 4_096_000)
    tail = int.from_bytes(os.urandom(8)) & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
    return f"{ticks >> 12:012x}7{ticks & 0xFFF:03x}{tail:016x}"


def is_id(text: str) -> bool:
    return len(text) == 32 and text.isascii() and text.isalnum() and not set(text) - set("0123456789abcdef")


def priority_of(value: int | str) -> int:
    """A priority by name or number."""
    if isinstance(value, str):
        if value in PRIORITIES:
            return PRIORITIES[value]
        try:
            value = int(value)
        except ValueError:
            names = ", ".join(PRIORITIES)
            raise BadInput(f"priority {value!r} is neither a number nor one of {names}") from None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= PRIORITY_LIMIT:
        raise BadInput(f"priority {value} is out of range; use 0 to {PRIORITY_LIMIT}")
    return value


def with_priority(record: dict[str, Any], priority: int) -> dict[str, Any]:
    """The same record at another priority, with all else that it says, whoever wrote it."""
    rest = {name: value for name, value in record.items() if name != "priority"}
    return rest if priority == _BLANK.priority else {**rest, "priority": priority}


def checked_key(key: str) -> str:
    return _checked_text("key", key, MAX_KEY_BYTES)


def _checked_text(what: str, text: Any, limit: int) -> str:
    if not isinstance(text, str) or not text:
        raise BadInput(f"{what} {text!r} is not acceptable; use a non-empty string")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise BadInput(f"{what} {text!r} is not valid Unicode") from None
    if size > limit:
        raise BadInput(f"{what} {text[:40]!r}… has {size} bytes; at most {limit} are allowed")
    return text


def checked_number(name: str, value: Any, low: float, high: float = CENTURY) -> float:
    """A finite number of seconds within bounds."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise BadInput(f"{name} {value!r} is not acceptable; use seconds from {low:g} to {high:g}")
    return float(value)


def _checked_list(name: str, values: Any) -> list[Any]:
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise BadInput(f"{name} {values!r} is not acceptable; use a list of strings")
    return list(values)


def make_task(new: NewTask, clock: Clock, store_now: float) -> Task:
    """Check a NewTask and give it an id. `store_now` is the store's time, from which delays count."""
    if new.unique not in ("live", "completed"):
        raise BadInput(f"unique {new.unique!r} is not known; use 'live' or 'completed'")
    for name in ("max_attempts", "max_deaths"):
        value = getattr(new, name)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise BadInput(f"{name} {value!r} is not acceptable; use a whole number from 1")
    for name in ("delay", "backoff", "max_backoff"):
        checked_number(name, getattr(new, name), 0)
    if new.max_runtime is not None:
        checked_number("max_runtime", new.max_runtime, 0.001)
    if new.at is not None:
        checked_number("at", new.at, 0, 1e11)
    labels, after = _checked_list("labels", new.labels), _checked_list("after", new.after)
    not_before = new.at if new.at is not None else store_now + new.delay if new.delay else None
    return Task(
        id=new_id(clock),
        payload=new.payload,
        key=None if new.key is None else checked_key(new.key),
        unique=new.unique,
        priority=priority_of(new.priority),
        project=None if new.project is None else _checked_text("project", new.project, MAX_LABEL_BYTES),
        labels=tuple(sorted({_checked_text("label", label, MAX_LABEL_BYTES) for label in labels})),
        after=tuple(dict.fromkeys(checked_key(ref) for ref in after)),
        not_before=not_before,
        max_attempts=new.max_attempts,
        max_deaths=new.max_deaths,
        max_runtime=new.max_runtime,
        backoff=new.backoff,
        max_backoff=new.max_backoff,
        pushed_at=round(store_now, 3),
    )
