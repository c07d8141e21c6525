"""The life of a task: one pure table of states and steps, used by every backend.

                       ┌──────────── release, fail, expire ────────────┐
                       ▼                                                │
    push ──► ready ── claim ──────────────────────────────────────► claimed ── complete ──► completed
      │        ▲                                                     │  │
      ├──► scheduled ── promote when its time has come               │  └─ fail / expire, out of tries ──► failed
      └──► blocked ──── promote when what it waits for completed     │                                        │
                                                                     └─ cancel (any live state) ► cancelled   │
               ▲                                                                                  │           │
               └───────────────────────────────── retry ──────────────────────────────────────────┴───────────┘

A task's state is one `Cell`. Each step takes the cell that was seen and returns the cell to
swap in; the backend swaps atomically, from exactly the version seen, or not at all. Nothing
here does input or output. `Refused` means the present state does not allow the step.
"""

from collections.abc import Callable
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from dibs.errors import Refused

if TYPE_CHECKING:
    from random import Random


class State(StrEnum):
    READY = "ready"
    SCHEDULED = "scheduled"
    BLOCKED = "blocked"
    CLAIMED = "claimed"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


LIVE = frozenset({State.READY, State.SCHEDULED, State.BLOCKED, State.CLAIMED})
TERMINAL = frozenset({State.COMPLETED, State.FAILED, State.CANCELLED})
WAITING = LIVE - {State.CLAIMED}

STEPS: dict[str, tuple[frozenset[State], frozenset[State]]] = {
    "claim": (frozenset({State.READY}), frozenset({State.CLAIMED})),
    "renew": (frozenset({State.CLAIMED}), frozenset({State.CLAIMED})),
    "complete": (frozenset({State.CLAIMED}), frozenset({State.COMPLETED})),
    "release": (frozenset({State.CLAIMED}), frozenset({State.READY, State.SCHEDULED})),
    "fail": (frozenset({State.CLAIMED}), frozenset({State.READY, State.SCHEDULED, State.FAILED})),
    "expire": (frozenset({State.CLAIMED}), frozenset({State.READY, State.FAILED})),
    "promote": (frozenset({State.SCHEDULED, State.BLOCKED}), frozenset({State.READY, State.SCHEDULED})),
    "cancel": (LIVE, frozenset({State.CANCELLED})),
    "retry": (frozenset({State.FAILED, State.CANCELLED}), frozenset({State.READY})),
    "prioritise": (WAITING, WAITING),  # in the same state, at another place among those that wait
}
_INSTEAD = {
    State.CLAIMED: "release it first, or wait until it is back in the queue",
    State.COMPLETED: "push it again with that priority",
    State.FAILED: "`dibs retry` it first",
    State.CANCELLED: "`dibs retry` it first",
}


class Cell(NamedTuple):
    """Where a task stands: the unit of compare-and-set."""

    state: State
    epoch: int = 0  # of the latest lease; 0 before the first
    attempts: int = 0  # leases that ended in `fail`
    deaths: int = 0  # leases whose worker died or fell silent
    holder: str = ""  # session of the lease, while claimed; of the finisher, when completed
    due: float = 0.0  # when scheduled: the store's time at which it becomes ready


_READY, _CLAIMED = State.READY, State.CLAIMED
_cell: Callable[[tuple[State, int, int, int, str, float]], Cell] = partial(tuple.__new__, Cell)


def fresh(epoch: int, attempts: int, deaths: int) -> Cell:
    """A ready task's cell, quickly."""
    return _cell((_READY, epoch, attempts, deaths, "", 0.0))


def check(cell: Cell, step: str) -> None:
    allowed = STEPS[step][0]
    if cell.state not in allowed:
        wanted = " or ".join(sorted(allowed))
        raise Refused(f"cannot {step} a task that is {cell.state}; it must be {wanted}")


def claim(cell: Cell, holder: str) -> Cell:
    state, epoch, attempts, deaths, _, _ = cell  # spelled out, as in `complete`: these two are the hot ones
    if state is not _READY:
        check(cell, "claim")
    return _cell((_CLAIMED, epoch + 1, attempts, deaths, holder, 0.0))


def complete(cell: Cell) -> Cell:
    if cell.state is not _CLAIMED:
        check(cell, "complete")
    return Cell(State.COMPLETED, cell.epoch, cell.attempts, cell.deaths, cell.holder)


def release(cell: Cell, due: float = 0.0) -> Cell:
    check(cell, "release")
    return _waiting(cell.epoch, cell.attempts, cell.deaths, due)


def fail(cell: Cell, max_attempts: int, due: float = 0.0) -> Cell:
    """One attempt more; out of attempts it is dead-lettered, else it waits until `due`."""
    check(cell, "fail")
    attempts = cell.attempts + 1
    if attempts >= max_attempts:
        return Cell(State.FAILED, cell.epoch, attempts, cell.deaths)
    return _waiting(cell.epoch, attempts, cell.deaths, due)


def expire(cell: Cell, max_deaths: int, *, counts: bool = True) -> Cell:
    """The holder is gone. `counts` is false when its whole host went (a power cut proves nothing against the task)."""
    check(cell, "expire")
    deaths = cell.deaths + 1 if counts else cell.deaths
    if counts and deaths >= max_deaths:
        return Cell(State.FAILED, cell.epoch, cell.attempts, deaths)
    return Cell(State.READY, cell.epoch, cell.attempts, deaths)


def promote(cell: Cell, due: float = 0.0) -> Cell:
    """Its time has come, or what it waited for completed; what was blocked may still have to wait until `due`."""
    check(cell, "promote")
    return _waiting(cell.epoch, cell.attempts, cell.deaths, due)


def seen(cell: Cell, now: float) -> Cell:
    """The cell as a claim of this moment would find it: what is due is ready, though nobody has made it so yet."""
    return promote(cell) if cell.state is State.SCHEDULED and cell.due <= now else cell


def cancel(cell: Cell) -> Cell:
    """A held task is cancelled at the next epoch, so that its holder is fenced off."""
    check(cell, "cancel")
    epoch = cell.epoch + 1 if cell.state is State.CLAIMED else cell.epoch
    return Cell(State.CANCELLED, epoch, cell.attempts, cell.deaths)


def retry(cell: Cell) -> Cell:
    """A fresh start; the epochs go on."""
    check(cell, "retry")
    return Cell(State.READY, cell.epoch)


def prioritise(cell: Cell) -> Cell:
    """Nothing of the cell changes, and so no epoch: only what is not held has a place among those that wait."""
    if cell.state not in WAITING:
        raise Refused(f"cannot change the priority of a task that is {cell.state}; {_INSTEAD[cell.state]}")
    return cell


def backoff(first: float, longest: float, attempts: int, rng: "Random") -> float:
    """Seconds to wait before attempt number `attempts + 1`: doubling, capped, with jitter of half."""
    full = min(longest, first * 2.0 ** min(attempts - 1, 60))
    return full * (0.5 + rng.random() / 2)


def _waiting(epoch: int, attempts: int, deaths: int, due: float) -> Cell:
    state = State.SCHEDULED if due else State.READY
    return Cell(state, epoch, attempts, deaths, "", due)
