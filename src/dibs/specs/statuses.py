"""The statuses of a spec, the steps between them, and what they mean to a queue. Pure.

A status is what stands in the file; a state (`dibs.states`) is what follows from it together with the
specs it waits for, its time and its lock. People may write any status by hand at any time; the table
says which steps dibs itself takes. `Refused` means the present status does not allow the step.
"""

from enum import StrEnum

from dibs.errors import Refused
from dibs.states import State


class Status(StrEnum):
    PENDING = "pending"
    BLOCKED = "blocked"
    IN_PROGRESS = "in_progress"
    PAUSED = "paused"
    COMPLETED = "completed"
    FAILED = "failed"
    NEEDS_ATTENTION = "needs_attention"
    CANCELLED = "cancelled"


_PENDING, _BLOCKED, _RUNNING, _PAUSED = Status.PENDING, Status.BLOCKED, Status.IN_PROGRESS, Status.PAUSED
_FAILED, _ATTENTION, _CANCELLED = Status.FAILED, Status.NEEDS_ATTENTION, Status.CANCELLED
_LIVE = frozenset({_PENDING, _BLOCKED, _RUNNING, _PAUSED})

ALIASES = {"ready": _PENDING}  # other tools write what here follows from the dependencies

STEPS: dict[str, tuple[frozenset[Status], frozenset[Status]]] = {
    "claim": (frozenset({_PENDING}), frozenset({_RUNNING})),
    "complete": (frozenset({_RUNNING}), frozenset({Status.COMPLETED})),
    "release": (frozenset({_RUNNING}), frozenset({_PENDING})),
    "expire": (frozenset({_RUNNING}), frozenset({_PENDING, _FAILED})),
    "fail": (frozenset({_RUNNING}), frozenset({_PENDING, _FAILED, _ATTENTION})),
    "pause": (frozenset({_PENDING, _RUNNING}), frozenset({_PAUSED})),
    "block": (frozenset({_PENDING}), frozenset({_BLOCKED})),
    "resume": (frozenset({_PAUSED, _BLOCKED}), frozenset({_PENDING})),
    "cancel": (_LIVE, frozenset({_CANCELLED})),
    "retry": (frozenset({_FAILED, _ATTENTION, _CANCELLED}), frozenset({_PENDING})),
}

_RANKS = {
    status: rank
    for rank, status in enumerate(
        (_PENDING, _BLOCKED, _PAUSED, _RUNNING, _ATTENTION, _FAILED, _CANCELLED, Status.COMPLETED)
    )
}

_STATES = {
    _BLOCKED: State.BLOCKED,
    _RUNNING: State.CLAIMED,
    _PAUSED: State.BLOCKED,
    Status.COMPLETED: State.COMPLETED,
    _FAILED: State.FAILED,
    _ATTENTION: State.FAILED,
    _CANCELLED: State.CANCELLED,
}


def status_of(text: str) -> Status | None:
    """None when there is no such status."""
    return BY_TEXT.get(text)


BY_TEXT = {**{status.value: status for status in Status}, **ALIASES}


def check(status: Status, step: str, to: Status | None = None) -> None:
    """Refused when `step` is not allowed from `status`, or does not lead to `to`."""
    sources, targets = STEPS[step]
    if status not in sources:
        raise Refused(f"cannot {step} a spec that is {status}; it must be {' or '.join(sorted(sources))}")
    if to is not None and to not in targets:
        raise Refused(f"cannot {step} a spec to {to}; that step leads to {' or '.join(sorted(targets))}")


def rank(text: str) -> int:
    """How far advanced a status is: when two people changed it, the higher one stays. -1 for what is no status."""
    status = status_of(text)
    return -1 if status is None else _RANKS[status]


def state_of(status: Status, *, met: bool = True, locked: bool = False, due: bool = True) -> State:
    """What the queue makes of it. `met`: nothing it waits for is open; `due`: its `not_before` has passed.
    A lock counts only while there is something to hold: what has ended stays ended."""
    if status is not _PENDING:
        return State.CLAIMED if locked and status in _LIVE else _STATES[status]
    if locked:
        return State.CLAIMED
    if not met:
        return State.BLOCKED
    return State.READY if due else State.SCHEDULED


def mermaid() -> str:
    """The table as a state diagram, for the documentation."""
    edges: dict[tuple[Status, Status], list[str]] = {}
    for step, (sources, targets) in STEPS.items():
        for source in Status:
            for target in Status:
                if source in sources and target in targets:
                    edges.setdefault((source, target), []).append(step)
    lines = ["stateDiagram-v2", "    [*] --> pending: add"]
    lines += [f"    {source} --> {target}: {', '.join(steps)}" for (source, target), steps in edges.items()]
    return "\n".join([*lines, "    completed --> [*]"]) + "\n"
