"""What a task is found by. Pure."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from dibs.states import State
from dibs.task import Task, encode

MOST_CHARACTERS = 200_000  # of one task's text
MOST_STORED = 16_384  # bytes of a task that the index can show by itself
# what a spec's file would say
STATUSES = {State.READY: "pending", State.SCHEDULED: "pending", State.BLOCKED: "pending", State.CLAIMED: "in_progress"}


class Words(NamedTuple):
    task: Task
    title: str
    text: str
    status: str
    kind: str = ""

    @property
    def shown(self) -> bytes | None:
        """The task as it is shown; None for one so large that the queue is asked for it."""
        data = encode(self.task.to_json())
        return data if len(data) <= MOST_STORED else None


def of_task(task: Task, status: str = "") -> Words:
    """`status`: what the spec's file says, for a task that is a spec."""
    payload = task.payload
    given = payload if isinstance(payload, dict) else {}
    title, kind = given.get("title"), given.get("type")
    text = " ".join(_texts(payload))[:MOST_CHARACTERS]
    return Words(
        task,
        title if isinstance(title, str) else "",
        f"{task.key} {text}" if task.key else text,
        status or STATUSES.get(task.state, str(task.state)),
        kind if isinstance(kind, str) else "",
    )


def _texts(value: Any) -> Iterator[str]:
    """Every text and number in a payload, and the names of its fields; bounded, whatever it is."""
    stack, size = [value], 0
    while stack and size < MOST_CHARACTERS:
        node = stack.pop()
        if isinstance(node, dict):
            stack += [part for pair in reversed(node.items()) for part in (pair[1], pair[0])]
        elif isinstance(node, list | tuple):
            stack += reversed(node)
        elif isinstance(node, str):
            size += len(node) + 1
            yield node
        elif node is not None and not isinstance(node, bool):
            size += 8
            yield str(node)[:100]
