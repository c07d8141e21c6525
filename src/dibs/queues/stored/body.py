"""What a task's cell carries besides state and lease: the task itself, and how its leases ended."""

from typing import Any, NamedTuple

from dibs.errors import BadInput
from dibs.facets import facet_of
from dibs.lease import Record, Seen
from dibs.queues.history import event_of, event_record, lengthened
from dibs.queues.stored.layout import leaving_key, marker_key, seed_key
from dibs.queues.views import Event
from dibs.states import Cell
from dibs.task import Task, task_from_record
from dibs.values import dataclass, replace


class Leaving(NamedTuple):
    """The task is on its way to another queue, where it will stand as it did here."""

    to: str
    state: str
    due: float


@dataclass(frozen=True, slots=True)
class Body:
    task: Task
    move: int = 1
    history: tuple[Event, ...] = ()
    ended: float = 0.0  # the store's time
    apart: bool = False  # the payload is kept apart
    purged: bool = False  # about to be deleted: as good as gone
    leaving: Leaving | None = None  # moved away: no task of this queue any more
    sown: int | None = None  # the priority that it was pushed with, by which its seed is named, if it has another now

    @property
    def seeded(self) -> bool:
        """The record is still in the seed, which marks the task too."""
        return self.move == 0

    def to_data(self) -> dict[str, Any]:
        if self.seeded:
            return {"seed": self.seed, "move": 0}
        task = self.task.to_record()
        if self.apart:
            del task["payload"]
        data: dict[str, Any] = {"task": task, "move": self.move}
        if self.history:
            data["history"] = [event_record(event) for event in self.history]
        data.update({name: True for name in ("apart", "purged") if getattr(self, name)})
        if self.ended:
            data["ended"] = self.ended
        if self.leaving is not None:
            data["leaving"] = self.leaving._asdict()
        if self.sown is not None:
            data["sown"] = self.sown
        return data

    def moved(self, event: Event | None = None, ended: float = 0.0) -> "Body":
        """One change of state further; of a long history the newest part is kept."""
        return replace(self, move=self.move + 1, history=lengthened(self.history, event), ended=ended)

    def prioritised(self, priority: int) -> "Body":
        """The same task at another priority: a change of state like any other, as its marker is another."""
        sown = self.task.priority if self.sown is None else self.sown
        return replace(self.moved(), task=replace(self.task, priority=priority), sown=sown)

    @property
    def seed(self) -> str:
        facet = facet_of(self.task)
        if self.sown is not None:
            facet = facet._replace(priority=self.sown)
        return seed_key(self.task.id, facet.code, facet.priority)

    def marker(self, cell: Cell) -> str:
        if self.seeded:
            return self.seed
        facet = facet_of(self.task)
        if self.leaving is not None:
            return leaving_key(self.task.id, facet.code, self.move, self.leaving.to)
        return marker_key(self.task.id, facet.code, facet.priority, self.move, cell, self.ended)


class Known(NamedTuple):
    """A task as it was read."""

    body: Body
    seen: Seen

    @property
    def cell(self) -> Cell:
        return self.seen.record.cell

    @property
    def marker(self) -> str:
        return self.body.marker(self.cell)

    @property
    def task(self) -> Task:
        return self.body.task.standing(self.cell)


def seed_of(record: Record) -> str | None:
    """The key of the seed, if the task's record is still there."""
    seed = record.data.get("seed")
    return seed if isinstance(seed, str) else None


def body_of(record: Record, sown: Task | None = None) -> Body:
    """Raises BadInput when it is no task's. `sown`: the task, where its record is still in the seed."""
    data = record.data
    if seed_of(record) is not None:
        if sown is None:
            raise BadInput("not a task's cell: its seed is missing")
        return Body(sown.standing(record.cell), 0)
    try:
        apart = bool(data.get("apart"))
        task = task_from_record({"payload": None, **data["task"]} if apart else data["task"], record.cell)
        history = tuple(event_of(event) for event in data.get("history", ()))
        ended = float(data.get("ended", 0.0))
        leaving = Leaving(**data["leaving"]) if "leaving" in data else None
        first = int(data["sown"]) if "sown" in data else None
        return Body(task, int(data["move"]), history, ended, apart, bool(data.get("purged")), leaving, first)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadInput(f"not a task's cell: {error!r}") from None
