"""Push: all tasks of a call in one transaction. What has to be encoded is encoded before it begins."""

from typing import NamedTuple

from dibs.clock import Clock
from dibs.errors import BadInput
from dibs.facets import facet_of
from dibs.queues.lmdb.cells import Cells
from dibs.queues.lmdb.database import Database, Transaction
from dibs.queues.lmdb.known import known
from dibs.queues.lmdb.layout import (
    CELL,
    IS_BLOCKED,
    IS_CLAIMED,
    IS_COMPLETED,
    IS_READY,
    IS_SCHEDULED,
    RECORD,
    STATES,
    Standing,
    binary,
    facet_line,
    micro,
    new_cell,
)
from dibs.queues.lmdb.waits import must_wait
from dibs.task import Task, encode
from dibs.values import replace


class New(NamedTuple):
    task: Task
    id: bytes
    record: bytes
    facet: bytes
    described: bytes  # empty when the facet's code says it all
    due: int
    runtime: int


def push(database: Database, clock: Clock, tasks: list[Task]) -> list[Task]:
    news = [_new(task) for task in tasks]

    def step(txn: Transaction) -> list[Task]:
        cells = Cells(txn, clock)
        pushed = [_pushed(cells, new) for new in news]
        cells.finish()
        return pushed

    return database.write(step, durable=True)


def _new(task: Task) -> New:
    """BadInput before anything is done."""
    if task.key is not None and task.key in task.after:
        raise BadInput(f"task with key {task.key!r} is to run after itself; remove it from `after`")
    facet = facet_of(task)
    code = facet.code
    return New(
        task,
        binary(task.id),
        encode(task.to_record()),
        code.encode(),
        facet.to_bytes() if "-" in code else b"",
        0 if task.not_before is None else micro(task.not_before),
        0 if task.max_runtime is None else micro(task.max_runtime),
    )


def _pushed(cells: Cells, new: New) -> Task:
    task = new.task
    if task.key is not None:
        owner = claim_key(cells, task.key, new.id, task.unique)
        if owner is not None:
            return replace(known(cells, owner).task, duplicate=True)
    if new.described:
        cells.describe(new.facet, new.described)
    state, when = IS_READY, 0
    if task.after and must_wait(cells, new.id, task.after):
        state = IS_BLOCKED
    elif new.due > cells.wall:
        state, when = IS_SCHEDULED, new.due
    data = new_cell(state, new.facet, when, new.runtime)
    cells.put(RECORD + new.id, new.record)
    cells.put(CELL + new.id, data)
    cells.put(Standing(data).place(new.id), b"")
    if state == IS_READY and new.described:
        cells.put(facet_line(new.facet) + new.id, b"")
    cells.count(new.facet, state, 1)
    return task if state == IS_READY else replace(task, state=STATES[state])


def claim_key(cells: Cells, key: str, task: bytes, unique: str) -> bytes | None:
    """The task that has the key, and keeps it; None when it is `task`'s now."""
    last, done = cells.named(key)
    state = cells.state(last) if last else None
    if state is not None and (state <= IS_CLAIMED or (state == IS_COMPLETED and unique == "completed")):
        return last
    if state == IS_COMPLETED:
        done = last
    elif unique == "completed" and done and cells.state(done) == IS_COMPLETED:
        return done
    cells.name(key, task, done)
    return None
