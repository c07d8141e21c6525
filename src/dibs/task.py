"""What a task is: the values that travel between user, queue and worker.

A `NewTask` is what somebody asks for; `make_task` checks it and gives it an id. A `Task` is the
same thing in a queue, with where it stands now. Both are plain values; the record of a task
(`to_record`) never changes after push, only its cell does (see `states`).
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from dibs.clock import Clock
from dibs.errors import BadInput
from dibs.states import Cell, State

PRIORITIES = {"low": 0, "normal": 50, "high": 100, "critical": 200}
PRIORITY_LIMIT = 9999
MAX_KEY_BYTES = 1024
MAX_LABEL_BYTES = 128


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
_STORED = {field.name: field.default for field in fields(Task) if field.name not in _STANDING}


def task_from_record(record: Mapping[str, Any], cell: Cell = Cell(State.READY)) -> Task:  # noqa: B008
    """Raises BadInput when the record is not a task's."""
    try:
        known = {name: record[name] for name in _STORED if name in record}
        for name in ("labels", "after"):
            if name in known:
                known[name] = tuple(known[name])
        return Task(
            id=record["id"],
            payload=record["payload"],
            state=cell.state,
            epoch=cell.epoch,
            attempts=cell.attempts,
            deaths=cell.deaths,
            **known,
        )
    except (KeyError, TypeError) as error:
        raise BadInput(f"not a task record: {error!r}") from None


def encode(value: Any) -> bytes:
    """JSON, compact, one line, UTF-8. BadInput says why a value is not JSON."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return text.encode() + b"\n"
    except RecursionError:
        raise BadInput("payload is nested too deep for JSON (about 1,000 levels at most); flatten it") from None
    except (TypeError, ValueError) as error:
        raise BadInput(f"payload is not JSON: {error}; use dicts, lists, strings, numbers, booleans, null") from None


def decode(data: bytes) -> Any:
    """BadInput when `data` is not JSON."""
    try:
        return json.loads(data)
    except RecursionError:
        raise BadInput("JSON is nested too deep to read") from None
    except ValueError as error:
        raise BadInput(f"not JSON: {error}") from None


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
    if isinstance(value, bool) or not 0 <= value <= PRIORITY_LIMIT:
        raise BadInput(f"priority {value} is out of range; use 0 to {PRIORITY_LIMIT}")
    return value


def checked_key(key: str) -> str:
    if not isinstance(key, str) or not key:
        raise BadInput(f"key {key!r} is not acceptable; use a non-empty string")
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


def make_task(new: NewTask, clock: Clock, store_now: float) -> Task:
    """Check a NewTask and give it an id. `store_now` is the store's time, from which delays count."""
    if new.unique not in ("live", "completed"):
        raise BadInput(f"unique {new.unique!r} is not known; use 'live' or 'completed'")
    if new.delay < 0:
        raise BadInput(f"delay {new.delay} is negative; use seconds from now")
    for name in ("max_attempts", "max_deaths"):
        value = getattr(new, name)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise BadInput(f"{name} {value!r} is not acceptable; use a whole number from 1")
    for name in ("backoff", "max_backoff"):
        if not getattr(new, name) >= 0:
            raise BadInput(f"{name} {getattr(new, name)!r} is not acceptable; use seconds from 0")
    if new.max_runtime is not None and not new.max_runtime > 0:
        raise BadInput(f"max_runtime {new.max_runtime!r} is not acceptable; use seconds above 0")
    for name in ("labels", "after"):
        if isinstance(getattr(new, name), str):
            raise BadInput(f"{name} {getattr(new, name)!r} is a string; use a list of strings")
    not_before = new.at if new.at is not None else store_now + new.delay if new.delay else None
    return Task(
        id=new_id(clock),
        payload=new.payload,
        key=None if new.key is None else checked_key(new.key),
        unique=new.unique,
        priority=priority_of(new.priority),
        project=None if new.project is None else _checked_text("project", new.project, MAX_LABEL_BYTES),
        labels=tuple(sorted({_checked_text("label", label, MAX_LABEL_BYTES) for label in new.labels})),
        after=tuple(dict.fromkeys(checked_key(ref) for ref in new.after)),
        not_before=not_before,
        max_attempts=new.max_attempts,
        max_deaths=new.max_deaths,
        max_runtime=new.max_runtime,
        backoff=new.backoff,
        max_backoff=new.max_backoff,
        pushed_at=round(store_now, 3),
    )
