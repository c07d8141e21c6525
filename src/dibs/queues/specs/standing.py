"""Where a spec stands, from its file, what it waits for, and the time. And what a step writes into the file. Pure."""

import getpass
from collections.abc import Callable
from functools import cache
from typing import Any

from dibs import states
from dibs.clock import iso
from dibs.liveness import Holder
from dibs.queues.lockfiles.past import Past
from dibs.specs.spec import Spec
from dibs.specs.statuses import Status, state_of
from dibs.states import TERMINAL, Cell, State

ENDED = frozenset({Status.COMPLETED, Status.FAILED, Status.NEEDS_ATTENTION, Status.CANCELLED})
ERROR_CHARACTERS = 500


def standing(spec: Spec, past: Past, met: Callable[[str], bool], now: float) -> Cell:
    """Of a spec that nobody here holds."""
    due = spec.not_before or 0.0
    free = spec.status is Status.PENDING and spec.approved and all(met(ref) for ref in spec.waits_for)
    state = state_of(spec.status, met=free, due=due <= now)
    epoch = max(past.cell.epoch, spec.epoch)
    again = spec.status not in ENDED and past.cell.state in TERMINAL  # put back by hand, or by a retry that broke off
    deaths = 0 if again else past.cell.deaths
    return Cell(state, epoch, spec.attempts, deaths, due=due if state is State.SCHEDULED else 0.0)


def claimed(holder: Holder) -> dict[str, Any]:
    """The fields of a spec that is taken."""
    return {"status": str(Status.IN_PROGRESS), "started_by": started_by(holder), "started_at": iso(holder.since)}


def started_by(holder: Holder) -> str:
    return f"{user()}@{holder.worker}"


def ours(spec: Spec, holder: Holder | None) -> bool:
    """Whether it was this claim that started it."""
    return holder is not None and (spec.started_by, spec.started_at) == (started_by(holder), iso(holder.since))


def ended_by(spec: Spec, holder: Holder | None) -> bool:
    """Whether it was this claim that completed it. A person who sets the status sets no time beside it."""
    return spec.status is Status.COMPLETED and spec.completed_at is not None and ours(spec, holder)


def written(spec: Spec, cell: Cell, error: str, wall: float) -> dict[str, Any]:
    """What follows in the file when a lease has ended, or a task was steered, and stands at `cell`."""
    fields: dict[str, Any] = {}
    if cell.state is State.COMPLETED:
        return {"status": str(Status.COMPLETED), "completed_at": iso(wall), "error": None}
    if cell.state is State.CANCELLED:
        return {"status": str(Status.CANCELLED)}
    if cell.attempts != spec.attempts:
        fields["attempts"] = cell.attempts or None
        fields["error"] = None  # of the attempt before
    if error:
        fields["error"] = " ".join(error.split())[:ERROR_CHARACTERS]
    if cell.state is State.FAILED:
        return {**fields, "status": str(Status.FAILED)}
    if spec.status in ENDED:  # a retry
        over = dict.fromkeys(("error", "not_before", "started_by", "started_at", "completed_at"))
        return {**fields, **over, "status": str(Status.PENDING)}
    if spec.status is Status.IN_PROGRESS:  # else somebody has paused or blocked it meanwhile: it stays so
        fields |= {"status": str(Status.PENDING), "started_by": None, "started_at": None}
    if cell.due:
        fields["not_before"] = iso(cell.due)
    return fields


def broke_off(spec: Spec, cell: Cell, now: float) -> bool:
    """Whether a step of this lease got as far as the file, which says more than the lock."""
    put_back = spec.attempts > cell.attempts or (spec.not_before or 0.0) > now
    return spec.status in ENDED or (spec.status is Status.PENDING and put_back)


def went(spec: Spec | None, cell: Cell, now: float) -> Cell:
    """Where the step led that broke off. A lease whose file is gone, or is another's now, is over; that is all."""
    if spec is not None and spec.status is Status.COMPLETED:
        return states.complete(cell)
    if spec is not None and spec.status is Status.CANCELLED:
        return states.cancel(cell)
    if spec is not None and spec.status in ENDED:
        deaths = cell.deaths + (spec.attempts == cell.attempts)  # it failed by one or the other
        return Cell(State.FAILED, cell.epoch, spec.attempts, deaths)
    if spec is not None and broke_off(spec, cell, now):
        due = spec.not_before or 0.0
        state = State.SCHEDULED if due > now else State.READY
        return Cell(state, cell.epoch, spec.attempts, cell.deaths, due=due if due > now else 0.0)
    return Cell(State.READY, cell.epoch, cell.attempts, cell.deaths)


@cache
def user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "unknown"
