"""A task packed whole, to go from one queue to another: its record, where it stands, and how its leases ended."""

from enum import StrEnum
from typing import Any

from dibs.queues.views import Event
from dibs.states import Cell, State
from dibs.task import Task
from dibs.values import dataclass, replace


class Outcome(StrEnum):
    """What became of a parcel at the queue that was to admit it."""

    ADDED = "added"
    THERE = "there"  # a task of this id is there, in whatever state: it is left as it is
    DUPLICATE = "duplicate"  # its key was taken meanwhile: it is kept there, failed, and can be retried
    LEAVING = "leaving"  # it is on its way from there to some other queue: not admitted


@dataclass(frozen=True, slots=True, kw_only=True)
class Parcel:
    """`task` is standing in the state that it had, or has, where it comes from."""

    task: Task
    due: float = 0.0  # when scheduled: the time at which it becomes ready
    holder: str = ""  # of a completed one: the session that completed it
    history: tuple[Event, ...] = ()
    to: str = ""  # once it has departed: the address that it is on its way to
    token: Any = None  # what the queue that packed it needs to find it again

    @property
    def id(self) -> str:
        return self.task.id

    @property
    def state(self) -> State:
        return self.task.state

    @property
    def cell(self) -> Cell:
        task = self.task
        return Cell(task.state, task.epoch, task.attempts, task.deaths, self.holder, self.due)

    def refused(self, owner: str, at: float) -> "Parcel":
        """As it is kept where its key belongs to another task: failed, with the reason, its key not its own."""
        task = self.task
        error = f"it was moved here, but its key {task.key!r} is taken by task {owner}; retry it when that is over"
        event = Event(epoch=task.epoch + 1, what="failed", worker="dibs-move", at=at, error=error)
        failed = replace(task, state=State.FAILED, epoch=task.epoch + 1)
        return replace(self, task=failed, due=0.0, history=(*self.history, event))
