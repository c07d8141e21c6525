"""Push: a script for every few hundred tasks, all in one round trip. One that is sent again finds its tasks there."""

from collections.abc import Iterator
from typing import Any

from dibs.errors import BadInput
from dibs.facets import Facet, facet_of
from dibs.queues.redis.answers import known, micro
from dibs.queues.redis.server import Server
from dibs.states import State
from dibs.task import Task, encode
from dibs.values import replace

CHUNK = 200
ALL_NEW = [1]  # and plain: the tasks stand as they were made
_DEFAULTS = Task(id="")
_PLAIN = facet_of(_DEFAULTS).code
_LIMITS = ("max_attempts", "max_deaths", "backoff", "max_backoff")


def push(server: Server, tasks: list[Task]) -> list[Task]:
    parts = [tasks[start : start + CHUNK] for start in range(0, len(tasks), CHUNK)]
    sent = [_arguments(part) for part in parts]
    answers = server.ask_many([("push", arguments) for arguments, _ in sent])
    pushed: list[Task] = []
    for part, (_, special), told in zip(parts, sent, answers, strict=True):
        if told == ALL_NEW:
            pushed += part
        else:
            pushed += [_pushed(task, answer) for task, answer in zip(part, _in_order(special, told), strict=True)]
    return pushed


def _arguments(tasks: list[Task]) -> tuple[list[Any], list[bool]]:
    """What to send, and which of the tasks are more than plain. BadInput before anything is sent."""
    plain: list[Any] = [0]
    others: list[Any] = []
    special = []
    for task in tasks:
        record = task.to_record()
        data = encode(record)
        special.append(not record.keys() <= _DEFAULT_RECORD)
        if special[-1]:
            others += [task.id, data, *_standing(task)]
        else:
            plain += [task.id, data]
    plain[0] = (len(plain) - 1) // 2
    return plain + others, special


_DEFAULT_RECORD = {"id", "payload", "pushed_at"}


def _standing(task: Task) -> list[Any]:
    if task.key is not None and task.key in task.after:
        raise BadInput(f"task with key {task.key!r} is to run after itself; remove it from `after`")
    facet = facet_of(task)
    fields = fields_of(task) | ({"facet": facet.code} if facet.code != _PLAIN else {})
    return [
        facet.code,
        described(facet),
        (task.key or "").encode(),
        task.unique,
        0 if task.not_before is None else micro(task.not_before),
        encode(fields).rstrip() if fields else b"",
    ]


def described(facet: Facet) -> bytes:
    """Nothing when its code says all."""
    return facet.to_bytes() if "-" in facet.code else b""


def fields_of(task: Task) -> dict[str, str]:
    """What the scripts need to know of the task besides; they do not read its record."""
    fields = {name: f"{getattr(task, name)!r}" for name in _LIMITS if getattr(task, name) != getattr(_DEFAULTS, name)}
    if task.max_runtime is not None:
        fields["max_runtime"] = str(micro(task.max_runtime))
    if task.not_before is not None:
        fields["not_before"] = str(micro(task.not_before))
    if task.key is not None:
        fields["key"] = task.key
    if task.after:
        fields["after"] = encode(task.after).decode()
    return fields


def _in_order(special: list[bool], told: list[Any]) -> Iterator[Any]:
    """The answers in the order of the tasks: the script was told the plain ones first."""
    states, others = told[0], iter(told[1:])
    plain = iter([b"ready"] * special.count(False) if states == 1 else states)
    return (next(others if more else plain) for more in special)


def _pushed(task: Task, answer: Any) -> Task:
    if isinstance(answer, bytes):
        state = State(answer.decode())
        return task if state is task.state else replace(task, state=state)
    return replace(known(answer).task, duplicate=True)
