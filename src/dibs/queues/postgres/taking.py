"""One look of a claimer: claim, and what must be done first so that there is something to claim.

A full claim says what is overdue, and that is seen to. It is asked for once a second while there is work, and whenever
there is none; in between a claim only takes what is ready.
"""

from dibs.clock import Clock
from dibs.facets import Filter
from dibs.queues.postgres.claiming import Claimer, Found, Taken
from dibs.queues.postgres.steering import Steering
from dibs.queues.postgres.upkeep import Upkeep

UPKEEP_SECONDS = 1.0
_SLACK_SECONDS = 0.005


class Taker:
    def __init__(self, claimer: Claimer, upkeep: Upkeep, steering: Steering, clock: Clock) -> None:
        self._claimer = claimer
        self._upkeep = upkeep
        self._steering = steering
        self._clock = clock
        self._next_upkeep = 0.0
        self._next_event: float | None = None

    @property
    def is_busy(self) -> bool:
        """There was work a moment ago: nothing else than to take more of it is due."""
        return self._clock.boottime() < self._next_upkeep

    def take(self, limit: int, ttl: float, wanted: Filter, session: str) -> list[Taken]:
        taken: list[Taken] = []
        if self.is_busy:
            found = self._claimer.grab(limit, ttl, wanted, session)
            self.bury(found)
            if found.taken:
                return found.taken
        while True:
            found = self._claimer.claim(limit - len(taken), ttl, wanted, session)
            taken += found.taken
            self._remember(found)
            self.bury(found)
            self._next_upkeep = self._clock.boottime() + UPKEEP_SECONDS if taken else 0.0
            changed = self._tend(found, idle=not taken) or bool(found.damaged)
            if not changed or len(taken) >= limit:
                return taken

    def bury(self, found: Found) -> None:
        for task_id, cell in found.damaged:
            self._steering.bury(task_id, cell)

    def until_event(self, seconds: float) -> float:
        """How long to wait: `seconds`, or less if a task is known to become due, or a lease to run out, before."""
        if self._next_event is None:
            return seconds
        return min(seconds, max(0.0, self._next_event - self._clock.boottime()) + _SLACK_SECONDS)

    def _remember(self, found: Found) -> None:
        """What is overdue already was seen to, or is in somebody's hands: no reason to look again soon."""
        ahead = [seconds for seconds in (found.due, found.expires) if seconds is not None and seconds > 0]
        self._next_event = self._clock.boottime() + min(ahead) if ahead else None

    def _tend(self, found: Found, *, idle: bool) -> bool:
        """True when something may have become ready."""
        changed = False
        if found.due is not None and found.due <= 0:
            changed |= self._upkeep.promote()
        if found.expires is not None and found.expires <= 0:
            changed |= self._upkeep.recover()
        elif found.expires is not None and idle:
            changed |= self._upkeep.look_beside()
        if found.blocked and idle:
            changed |= self._upkeep.look_at_blocked()
        self._upkeep.tidy()
        return changed
