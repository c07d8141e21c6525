"""Push: a script for every few hundred tasks, all in one round trip. One that is sent again finds its tasks there."""

from typing import Any

from dibs.errors import BadInput
from dibs.facets import facet_of
from dibs.queues.redis.answers import known, micro
from dibs.queues.redis.server import Server
from dibs.states import State
from dibs.task import Task, encode
from dibs.values import replace

CHUNK = 200
_DEFAULTS = Task(id="")
_LIMITS = ("max_attempts", "max_deaths", "backoff", "max_backoff")


def push(server: Server, tasks: list[Task]) -> list[Task]:
    arguments = [_arguments(task) for task in tasks]
    parts = [arguments[start : start + CHUNK] for start in range(0, len(arguments), CHUNK)]
    calls = [("push", [value for one in part for value in one]) for part in parts]
    answers = [answer for part in server.ask_many(calls) for answer in part]
    return [_pushed(task, answer) for task, answer in zip(tasks, answers, strict=True)]


def _arguments(task: Task) -> list[Any]:
    """BadInput before anything is sent."""
    if task.key is not None and task.key in task.after:
        raise BadInput(f"task with key {task.key!r} is to run after itself; remove it from `after`")
    facet = facet_of(task)
    code = facet.code
    return [
        task.id,
        encode(task.to_record()),
        code,
        facet.to_bytes() if "-" in code else b"",
        (task.key or "").encode(),
        task.unique,
        0 if task.not_before is None else micro(task.not_before),
        encode(fields) if (fields := fields_of(task)) else b"",
    ]


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


def _pushed(task: Task, answer: Any) -> Task:
    if isinstance(answer, bytes):
        state = State(answer.decode())
        return task if state is task.state else replace(task, state=state)
    return replace(known(answer).task, duplicate=True)
