"""From what the scripts return to the values of dibs. Times are whole microseconds on the wire, seconds here."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from dibs.errors import BadInput
from dibs.queues.history import event_of
from dibs.queues.views import Claim, Detail, Event
from dibs.states import Cell, State, seen
from dibs.task import Task, decode, task_from_record

MICRO = 1_000_000
FIRST = Cell(State.CLAIMED, 1)  # of a plain task, held for the first time


class Known(NamedTuple):
    """A task as it was read."""

    task: Task
    cell: Cell
    fields: dict[str, str]

    def time(self, name: str) -> float | None:
        return seconds(self.fields[name]) if self.fields.get(name) else None


def micro(duration: float) -> int:
    return round(duration * MICRO)


def seconds(text: str | bytes) -> float:
    return int(float(text)) / MICRO


def pairs(flat: Sequence[bytes]) -> dict[str, str]:
    texts = [part.decode() for part in flat]
    return dict(zip(texts[::2], texts[1::2], strict=True))


def known(view: Sequence[Any]) -> Known:
    """Raises BadInput when the record is missing or damaged."""
    fields = pairs(view[1])
    state = State(fields["was"] if fields["state"] == "leaving" else fields["state"])
    cell = Cell(
        state,
        int(fields.get("epoch", 0)),
        int(fields.get("attempts", 0)),
        int(fields.get("deaths", 0)),
        fields.get("holder", "") if state in (State.CLAIMED, State.COMPLETED) else "",
        seconds(fields["due"]) if state is State.SCHEDULED else 0.0,
    )
    return Known(task_from_record(decode(view[2]), cell), cell, fields)


def standing_of(text: bytes) -> tuple[Cell, float | None]:
    """A claimed task's cell and its max_runtime."""
    epoch, attempts, deaths, longest = text.split()
    cell = Cell(State.CLAIMED, int(epoch), int(attempts), int(deaths))
    return cell, None if longest == b"-" else int(longest) / MICRO


def worker_of(holder: str) -> str:
    return holder.rpartition(".")[0] or holder


def claim_of(known: Known, ends: bytes, worker: bytes) -> Claim:
    """Wall times are the server's."""
    name = worker_of(known.cell.holder)
    entry = _entry(worker)
    parts = name.rsplit("-", 2)
    beat, ttl = known.time("beat") or 0.0, seconds(known.fields["ttl"])
    return Claim(
        id=known.task.id,
        key=known.task.key,
        epoch=known.cell.epoch,
        worker=name,
        host=str(entry.get("host", parts[0])),
        pid=entry.get("pid"),
        claimed_at=known.time("since") or 0.0,
        heartbeat_at=beat,
        expires_at=beat + ttl,
        ttl=ttl,
    )


def detail_of(answer: Sequence[Any]) -> Detail:
    view, past, ends, worker, waits, paused, now = answer
    found = known(view)
    cell = seen(found.cell, seconds(now))
    state = cell.state
    history = events(past, found)
    errors = [event.error for event in history if event.error]
    completed = history[-1] if state is State.COMPLETED and history else None
    names = [part.decode() for part in waits]
    return Detail(
        task=found.task.standing(cell),
        due=cell.due or None,
        claim=claim_of(found, ends, worker) if state is State.CLAIMED else None,
        history=history,
        result=completed.result if completed else None,
        error=errors[-1] if errors and not completed else "",
        ended_at=found.time("ended") if state in (State.COMPLETED, State.FAILED, State.CANCELLED) else None,
        waits_for=tuple(zip(names[::2], names[1::2], strict=True)),
        paused=reason(paused),
    )


def events(past: Sequence[bytes], known: Known) -> tuple[Event, ...]:
    """How the leases of a task ended. A completion that left no result is told by the task's own fields."""
    found = [event_of(decode(event)) for event in past]
    cell = known.cell
    if cell.state is State.COMPLETED and not (found and found[-1].what == State.COMPLETED):
        at = round(known.time("ended") or 0.0, 3)
        worker = worker_of(cell.holder)
        found.append(Event(epoch=cell.epoch, what="completed", worker=worker, at=at, error="", result=None))
    return tuple(found)


def reason(paused: Sequence[bytes]) -> str | None:
    return paused[0].decode() if paused else None


def _entry(worker: bytes) -> dict[str, Any]:
    try:
        return dict(decode(worker)) if worker else {}
    except (BadInput, TypeError, ValueError):
        return {}
