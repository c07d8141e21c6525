"""From what is stored to the values of dibs."""

from typing import NamedTuple

from dibs.errors import BadInput
from dibs.queues.history import event_of
from dibs.queues.lmdb.cells import Cells
from dibs.queues.lmdb.layout import IS_LEAVING, MICRO, PAST, RECORD, WORKER, Standing
from dibs.queues.lmdb.workers import record_of
from dibs.queues.views import Claim, Event
from dibs.states import Cell, State
from dibs.task import Task, decode, task_from_record


class Known(NamedTuple):
    """A task as it was read."""

    id: bytes
    task: Task
    cell: Cell
    standing: Standing


def known(cells: Cells, task: bytes) -> Known:
    """Raises BadInput when it is not whole."""
    standing = cells.read(task)
    if standing is None:
        raise BadInput(f"task {task.hex()} has no cell")
    return known_as(task, standing, cells.get(RECORD + task) or b"")


def known_as(task: bytes, standing: Standing, record: bytes) -> Known:
    cell = standing.cell
    return Known(task, task_from_record(decode(record), cell), cell, standing)


def history(cells: Cells, found: Known) -> tuple[Event, ...]:
    lines = (cells.get(PAST + found.id) or b"").splitlines()
    events = tuple(event_of(decode(line)) for line in lines)
    if found.cell.state is State.COMPLETED and (not events or events[-1].what != "completed"):
        standing = found.standing
        at = round((standing.beat if standing.state == IS_LEAVING else standing.when) / MICRO, 3)
        events += (Event(epoch=standing.epoch, what="completed", worker=standing.worker.decode(), at=at),)
    return events


def claim_of(cells: Cells, found: Known) -> Claim:
    """Its wall times are for people: of the claim, and from there by the clock that the lease is measured on."""
    standing = found.standing
    worker = record_of(cells.get(WORKER + standing.worker))
    name, ttl = standing.worker.decode(), standing.ttl / MICRO
    beat = standing.at / MICRO + (standing.beat - standing.since) / MICRO
    return Claim(
        id=found.task.id,
        key=found.task.key,
        epoch=standing.epoch,
        worker=name,
        host=str(worker.get("host", name.rsplit("-", 2)[0])),
        pid=worker.get("pid"),
        claimed_at=standing.at / MICRO,
        heartbeat_at=beat,
        expires_at=beat + ttl,
        ttl=ttl,
    )
