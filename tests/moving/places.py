"""Queues to move between, and one with a task of every kind to move."""

from typing import Any

import dibs
from dibs.queues.queue import Queue
from dibs.queues.stored import StoredQueue
from dibs.queues.views import Detail
from dibs.states import State
from dibs.stores.files import FileStore
from dibs.values import replace

GOING = (State.READY, State.SCHEDULED, State.BLOCKED, State.FAILED)


class Stored(StoredQueue):
    """The queue over a store, on files: what a bucket is, as far as moving goes."""

    fresh_seconds = 0.0
    upkeep_seconds = 0.0
    asking_is_cheap = True
    idle_seconds = 0.05


def open_place(kind: str, path: str, **options: Any) -> Queue:
    if kind == "file":
        return dibs.open(f"file:{path}?sync=off", **options)
    if kind == "memory":
        return dibs.open(f"memory:{path}", **options)
    import os

    os.makedirs(path, exist_ok=True)
    return Stored(f"stored:{path}", FileStore(path), **options)


def fill(queue: Queue) -> None:
    """Every state, keys, dependencies, attempts and history."""
    queue.push({"n": "done"}, key="done", priority=400)
    queue.push({"n": "failed"}, key="failed", priority=350, max_attempts=1)
    queue.push({"n": "retrying"}, key="retrying", priority=300, backoff=5000.0, max_backoff=9000.0, labels=["a"])
    queue.push({"n": "released"}, key="released", priority=250, project="p", max_deaths=7, max_runtime=500.0)
    for lease in queue.claim_many(4, ttl=60):
        if lease.task.key == "done":
            lease.complete({"made": 1})
        elif lease.task.key == "released":
            lease.release()
        else:
            lease.fail(f"{lease.task.key} did not work")
    queue.push({"n": "plain"})
    queue.push({"n": "large", "pad": "x" * 40_000}, labels=["b", "a"])
    queue.push({"n": "keyed"}, key="keyed", unique="completed", priority="low")
    queue.push({"n": "scheduled"}, key="scheduled", delay=4000.0)
    queue.push({"n": "blocked"}, key="blocked", after=["keyed"])
    queue.push({"n": "chained"}, after=["blocked", "done", "nobody"], delay=3000.0)


def look(queue: Queue) -> dict[str, Detail]:
    """Everything known of each task that can be moved, but for what is of the place and not of the task."""
    ids = [task.id for state in GOING for task in queue.tasks(state)]
    return {task_id: comparable(queue.detail(task_id)) for task_id in ids}


def comparable(detail: Detail) -> Detail:
    return replace(detail, ended_at=None, due=None if detail.due is None else float(round(detail.due * 1000)))
