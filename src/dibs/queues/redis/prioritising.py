"""Changing the priority of a task that waits: read, then one script that changes exactly what was read."""

from collections.abc import Callable, Sequence
from typing import Any

from dibs import states
from dibs.errors import TaskNotFound
from dibs.facets import facet_of
from dibs.queues.redis.answers import known
from dibs.queues.redis.server import Server
from dibs.task import Task, decode, encode, with_priority

NotFound = Callable[[str, Sequence[bytes]], TaskNotFound]


def prioritise(server: Server, show: Callable[[str], list[Any]], not_found: NotFound, ref: str, priority: int) -> Task:
    """`show` is what the queue shows of a task, see `show.lua`."""
    while True:
        view = show(ref)[0]
        found = known(view)
        states.prioritise(found.cell)
        task = found.task
        if task.priority == priority:
            return task
        facet = facet_of(task)._replace(priority=priority)
        code = facet.code
        described = facet.to_bytes() if "-" in code else b""
        record = encode(with_priority(decode(view[2]), priority))
        answer = server.ask("prioritise", task.id, found.fields["facet"], code, described, record)
        if answer[0] == b"gone":
            raise not_found(ref, answer[1:])
        if answer[0] == b"ok":
            return known(answer[1]).task
