"""The guard: keeps a worker's leases while it lives and runs, and cleans up when it is dead.

It beats four times a TTL for a worker that runs, not for one that is stopped (SIGSTOP): a stopped
worker that wakes in time is kept on, one that does not has lost its leases for ever and is told.
When the worker is dead its children are killed, seen to be gone, and only then are its leases given
back. The guard runs in a process that runs no task code, so nothing a task does delays a beat.

`step` does what is due and says when to call it again. It never blocks but for the storage.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from dibs.clock import Clock
from dibs.errors import StorageError
from dibs.host import process_state
from dibs.worker.brood import kill_brood, kill_group

BEATS_PER_TTL = 4
_LOOKS_PER_TTL = 20
_KILL_PAUSE = 0.002
_LONGEST_KILL_PAUSE = 0.5
_IDLE_SECONDS = 5.0


class Beaten(Protocol):
    """What the guard needs of a queue."""

    clock: Clock

    def beat(self, handle: str) -> float | None: ...

    def end(self, handle: str) -> None: ...


@dataclass(slots=True)
class Kept:
    """A handle, and until when it holds (boottime)."""

    ttl: float
    deadline: float
    due: float


@dataclass(eq=False, slots=True)
class Ward:
    """A worker process that is guarded."""

    pid: int
    mark: str
    groups: Callable[[], Iterable[int]] = tuple  # process groups of what it runs now
    left_in_order: Callable[[], bool] = bool  # it ended by itself, with nothing running
    start: str = ""
    kept: dict[str, Kept] = field(default_factory=dict)
    limits: dict[tuple[str, int], float] = field(default_factory=dict)  # by task and epoch
    stopped: bool = False
    dead: bool = False
    looks: int = 0  # after its death, for its children
    clean_looks: int = 0

    def __post_init__(self) -> None:
        self.start = self.start or process_state(self.pid)[1]


class Report(Protocol):
    """Whom the guard tells."""

    def lost(self, ward: Ward, handle: str) -> None:
        """The handle is dead for ever; so are all leases under it."""

    def over(self, ward: Ward, name: tuple[str, int]) -> None:
        """The limit of that task and epoch has passed."""

    def settle(self, ward: Ward) -> None:
        """The worker and its children are dead; its handles are about to be ended."""

    def buried(self, ward: Ward) -> None:
        """Everything of the dead worker is given back."""

    def trouble(self, error: StorageError) -> None:
        """A beat could not be written; it is tried again while there is time."""


class Guard:
    def __init__(self, queue: Beaten, report: Report) -> None:
        self._queue = queue
        self._clock = queue.clock
        self._report = report
        self.wards: list[Ward] = []

    def hold(self, ward: Ward, handle: str, ttl: float, until: float | None = None) -> float | None:
        """Beat at once, or in time for what is known to hold `until` then, and from now on. Returns until when it
        holds, or None: lost already."""
        now = self._clock.boottime()
        kept = ward.kept.get(handle)
        if kept is None:
            due = now if until is None else until - ttl + ttl / BEATS_PER_TTL
            kept = ward.kept[handle] = Kept(ttl, now + ttl if until is None else until, due)
        if until is None or now >= kept.due:
            self._beat(ward, handle, kept, now)
        return kept.deadline if handle in ward.kept else None

    def drop(self, ward: Ward, handle: str) -> None:
        ward.kept.pop(handle, None)

    def step(self) -> float:
        """Do what is due. Returns the seconds until something is."""
        pauses = [self._tend(ward) for ward in list(self.wards)]
        return max(0.0, min(pauses, default=_IDLE_SECONDS))

    def _tend(self, ward: Ward) -> float:
        state, start = process_state(ward.pid)
        if ward.dead or state in "-ZX" or (start and ward.start and start != ward.start):
            ward.dead = True
            return self._bury(ward)
        ward.stopped = state in "Tt"
        pause = _IDLE_SECONDS
        for handle, kept in list(ward.kept.items()):
            now = self._clock.boottime()
            if ward.stopped:
                self._doom(ward, handle, kept, now)
                pause = min(pause, kept.ttl / _LOOKS_PER_TTL)
            else:
                if now >= kept.due:
                    self._beat(ward, handle, kept, now)
                pause = min(pause, kept.due - now)
        return min(pause, self._check_limits(ward))

    def _beat(self, ward: Ward, handle: str, kept: Kept, now: float) -> None:
        try:
            deadline = self._queue.beat(handle)
        except StorageError as error:
            self._report.trouble(error)
            deadline = kept.deadline if now < kept.deadline else None
            kept.due = now + kept.ttl / _LOOKS_PER_TTL
        else:
            kept.due = now + kept.ttl / BEATS_PER_TTL
        if deadline is None:
            self._lose(ward, handle)
        else:
            kept.deadline = deadline

    def _doom(self, ward: Ward, handle: str, kept: Kept, now: float) -> None:
        """No beat for a stopped worker; what it runs is dead before anybody else can take its task."""
        if now >= kept.deadline - kept.ttl / _LOOKS_PER_TTL * 2:
            for group in ward.groups():
                kill_group(group)
        if now >= kept.deadline:
            self._lose(ward, handle)

    def _lose(self, ward: Ward, handle: str) -> None:
        del ward.kept[handle]
        self._report.lost(ward, handle)

    def _check_limits(self, ward: Ward) -> float:
        now = self._clock.boottime()
        for name, limit in list(ward.limits.items()):
            if now >= limit:
                del ward.limits[name]
                self._report.over(ward, name)
        return min(ward.limits.values(), default=now + _IDLE_SECONDS) - now

    def _bury(self, ward: Ward) -> float:
        """Kill until two looks in a row find nothing: a process may be born behind the first."""
        clean = ward.left_in_order() or kill_brood(ward.mark, ward.groups())
        ward.looks += 1
        ward.clean_looks = ward.clean_looks + 1 if clean else 0
        now = self._clock.boottime()
        expired = bool(ward.kept) and all(now >= kept.deadline for kept in ward.kept.values())
        if ward.clean_looks < 2 and not expired:
            return 0.0 if clean else min(_KILL_PAUSE * ward.looks, _LONGEST_KILL_PAUSE)
        self._report.settle(ward)
        for handle in list(ward.kept):
            try:
                self._queue.end(handle)
            except StorageError as error:
                self._report.trouble(error)  # then it runs out by itself
        self.wards.remove(ward)
        self._report.buried(ward)
        return 0.0
