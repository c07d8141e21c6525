"""From rows to values."""

from typing import Any, NamedTuple

from dibs.errors import BadInput
from dibs.queues.history import event_of
from dibs.queues.postgres.driver import Row
from dibs.queues.views import Event
from dibs.states import TERMINAL, Cell, State
from dibs.task import Task, checked_record, decode, task_from_record
from dibs.values import replace


class Known(NamedTuple):
    """Everything about one task, as `find.sql` selects it."""

    id: str
    cell: Cell
    ended: float
    since: float
    renewed: float
    until: float | None
    ttl: float
    beat: float
    now: float
    record: str
    history: tuple[Event, ...]
    host: str | None
    boot: str | None
    pid: int | None

    @property
    def task(self) -> Task:
        return task_of(self.record, self.cell, self.id)


def known_of(row: Row) -> Known:
    found, state, epoch, attempts, deaths, holder, at, since, renewed, until, ttl, beat, now = row[:13]
    cell, ended = cell_of(state, epoch, attempts, deaths, holder, at)
    record, history, host, boot, pid = row[13:]
    past = events(history, cell, ended)
    return Known(found.hex, cell, ended, since, renewed, until, ttl, beat, now, record, past, host, boot, pid)


def cell_of(state: str, epoch: int, attempts: int, deaths: int, holder: str, at: float) -> tuple[Cell, float]:
    """The cell, and when the task ended, or 0: what `at` is depends on the state."""
    kind = State(state)
    due = at if kind is State.SCHEDULED else 0.0
    return Cell(kind, epoch, attempts, deaths, holder, due), at if kind in TERMINAL else 0.0


def task_of(record: str, cell: Cell, task_id: str) -> Task:
    """A record that somebody has damaged is shown as a task without payload: there is nothing else to say about it."""
    try:
        task = task_from_record(decode(record.encode()), cell)
    except BadInput:
        return Task(id=task_id, state=cell.state, epoch=cell.epoch, attempts=cell.attempts, deaths=cell.deaths)
    return task if task.id == task_id else replace(task, id=task_id)


def record_of(text: str) -> dict[str, Any]:
    """Raises BadInput."""
    return checked_record(decode(text))


def events(history: list[str], cell: Cell, ended: float) -> tuple[Event, ...]:
    """How the leases of a task ended. A completion that left no result is told by the row itself."""
    found = []
    for text in history:
        try:
            found.append(event_of(decode(text.encode())))
        except (BadInput, KeyError, TypeError, ValueError):
            continue  # not ours
    if cell.state is State.COMPLETED and not (found and found[-1].what == State.COMPLETED):
        at = round(ended, 3)
        found.append(Event(epoch=cell.epoch, what="completed", worker=cell.holder, at=at, error="", result=None))
    return tuple(found)
