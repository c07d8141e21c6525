"""What the tools answer, as structured output: values of the queue, bounded where a queue is not.

`typing_extensions`, because pydantic makes schemas of `typing`'s own only from Python 3.12.
"""

from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

from dibs.clock import iso
from dibs.mcp.asked import Json
from dibs.mcp.places import Opened
from dibs.queues.held import Lease
from dibs.queues.views import Detail
from dibs.task import Task, encode

SUMMARY_CHARACTERS = 200
MAX_EVENTS = 20
MAX_GROUPS = 50


class Line(TypedDict):
    """A task in a list."""

    id: str
    key: str | None
    state: str
    priority: int
    project: str | None
    labels: list[str]
    attempts: int
    summary: Annotated[str, Field(description="the title, or the beginning of the payload")]


class Lines(TypedDict):
    queue: str
    tasks: list[Line]
    more: Annotated[int | None, Field(description="how many more there are; null: some, not counted")]


class Shown(TypedDict):
    queue: str
    task: dict[str, Any]
    due: str | None
    claim: dict[str, Any] | None
    history: Annotated[list[dict[str, Any]], Field(description=f"how its last leases ended, {MAX_EVENTS} at most")]
    result: Json
    error: str
    ended_at: str | None
    waits_for: list[dict[str, Any]]
    paused: str | None
    held_here: Annotated[bool, Field(description="this session holds it")]


class Reason(TypedDict):
    queue: str
    id: str
    state: str
    text: str
    ready_at: str | None


class Added(TypedDict):
    queue: str
    id: str
    key: str | None
    state: str
    duplicate: Annotated[bool, Field(description="the key was taken: nothing was added, this is the task that has it")]


class Work(TypedDict):
    """A claimed task."""

    id: str
    epoch: int
    key: str | None
    payload: Json
    priority: int
    project: str | None
    labels: list[str]
    attempts: Annotated[int, Field(description="failed attempts before this one")]
    expires_at: Annotated[str, Field(description="renewed by itself while this session lives")]


class Claimed(TypedDict):
    queue: str
    task: Annotated[Work | None, Field(description="null: nothing to claim")]
    note: str


class Stepped(TypedDict):
    queue: str
    id: str
    epoch: int
    outcome: str
    expires_at: str | None


class HeldHere(TypedDict):
    id: str
    epoch: int
    key: str | None
    summary: str


class Counts(TypedDict):
    queue: str
    states: dict[str, int]
    total: int
    priorities: dict[str, dict[str, int]]
    projects: dict[str, dict[str, int]]
    labels: dict[str, dict[str, int]]
    workers: int
    paused: str | None
    held: Annotated[list[HeldHere], Field(description="what this session holds in this queue")]
    queues: Annotated[list[str], Field(description="the queues served here, the default first")]


def line(task: Task) -> Line:
    return {
        "id": task.id,
        "key": task.key,
        "state": str(task.state),
        "priority": task.priority,
        "project": task.project,
        "labels": list(task.labels),
        "attempts": task.attempts,
        "summary": summary(task.payload),
    }


def summary(payload: Any) -> str:
    title = payload.get("title") if isinstance(payload, dict) else payload
    text = title if isinstance(title, str) and title else _encoded(payload)
    text = " ".join(text[: SUMMARY_CHARACTERS * 2].split())
    return text if len(text) <= SUMMARY_CHARACTERS else text[: SUMMARY_CHARACTERS - 1] + "…"


def _encoded(payload: Any) -> str:
    try:
        return encode(payload).decode()
    except ValueError:
        return repr(payload)  # nobody pushed that: somebody wrote the file by hand


def shown(at: Opened, detail: Detail, *, held_here: bool) -> Shown:
    record = detail.to_json()
    return {
        "queue": at.name,
        "task": record["task"],
        "due": record["due"],
        "claim": record["claim"],
        "history": record["history"][-MAX_EVENTS:],
        "result": record["result"],
        "error": record["error"],
        "ended_at": record["ended_at"],
        "waits_for": record["waits_for"],
        "paused": record["paused"],
        "held_here": held_here,
    }


def work(lease: Lease) -> Work:
    task = lease.task
    return {
        "id": task.id,
        "epoch": lease.epoch,
        "key": task.key,
        "payload": task.payload,
        "priority": task.priority,
        "project": task.project,
        "labels": list(task.labels),
        "attempts": task.attempts,
        "expires_at": iso(lease.expires_at),
    }


def largest(groups: dict[Any, dict[str, int]]) -> dict[str, dict[str, int]]:
    """The groups with the most tasks."""
    kept = sorted(groups, key=lambda name: sum(groups[name].values()), reverse=True)[:MAX_GROUPS]
    return {str(name): dict(groups[name]) for name in kept}
