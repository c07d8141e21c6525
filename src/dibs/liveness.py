"""Is a lease's holder still there? Decided without ever comparing two hosts' clocks.

Same boot: its process is seen to be gone, or its last beat is older than its TTL on the boottime
clock that both share. Any other boot: the beat is watched on our own boottime clock, and only
one that stays unchanged for the TTL (and a margin for drift) is stale; or, where a store dates what is
written, its record is older than that by the store's clock, read at both ends from the store itself.

A session that is stale stays stale: a holder counts a beat only if it was written before the
previous one ran out, so acting on an old verdict is always safe.
"""

from collections.abc import Callable, Iterable
from enum import StrEnum
from math import isfinite
from typing import Any

from dibs.clock import Clock
from dibs.errors import BadInput
from dibs.host import Host
from dibs.values import dataclass, field_names

DRIFT = 1.02
MARGIN_SECONDS = 0.5


class Verdict(StrEnum):
    ALIVE = "alive"
    DEAD = "died"  # its process was seen to be gone
    SILENT = "fell silent"  # its TTL ran out
    REBOOTED = "lost its host"  # its TTL ran out and its machine has booted since


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who holds, as recorded beside the leases. `beat` is in seconds of the boottime clock of `boot`."""

    session: str
    worker: str
    host: str
    machine: str
    boot: str
    space: str
    pid: int | None
    start: str = ""
    guard: int | None = None  # the process that beats for it and cleans up after it
    guard_start: str = ""
    ttl: float
    beat: float
    since: float  # wall time, for people
    sure: float = 0.0  # until when it was certain to hold when this was written: what its worker may rely on
    ended: bool = False  # said by the guard: the holder is dead and its children too

    def to_record(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _FIELDS}


_FIELDS = field_names(Holder)


def holder_from_record(record: Any) -> Holder:
    """Raises BadInput when the record is not a holder's."""
    try:
        holder = Holder(**{name: record[name] for name in _FIELDS if name in record})
    except (KeyError, TypeError) as error:
        raise BadInput(f"not a holder's record: {error}") from None
    texts = (holder.session, holder.worker, holder.host, holder.machine, holder.boot, holder.space, holder.start)
    numbers = (holder.ttl, holder.beat, holder.since, holder.sure)
    if (
        not all(isinstance(text, str) for text in (*texts, holder.guard_start))
        or not all(pid is None or (isinstance(pid, int) and 0 < pid < 2**31) for pid in (holder.pid, holder.guard))
        or not all(isinstance(number, int | float) and isfinite(number) for number in numbers)
    ):
        raise BadInput("not a holder's record: a field has a wrong type")
    return holder


class Watch:
    """Remembers what it saw of holders on other boots. One per process and queue."""

    def __init__(self, host: Host, clock: Clock) -> None:
        self._host = host
        self._clock = clock
        self._seen: dict[str, tuple[float, float]] = {}

    def judge(
        self,
        holder: Holder,
        asked: float,
        boots: Iterable[tuple[str, str]] = (),
        age: Callable[[], float] = lambda: 0.0,
    ) -> Verdict:
        """`asked`: the boottime before the record was read; one read long ago says nothing about now.
        `boots`: (machine, boot) of the holders known, to tell a power cut from a silent death.
        `age`: how long ago the record was certainly written, where a store's clock can tell."""
        if holder.ended:
            return Verdict.DEAD
        if holder.boot == self._host.boot:
            if self._seen_dead(holder):
                return Verdict.DEAD
            return Verdict.SILENT if asked - holder.beat > holder.ttl else Verdict.ALIVE
        patience = holder.ttl * DRIFT + MARGIN_SECONDS
        if self.watched_for(holder.session, holder.beat, asked) <= patience and age() <= patience:
            return Verdict.ALIVE
        mine = (self._host.machine, self._host.boot)
        rebooted = any(_booted_since(holder, *known) for known in (mine, *boots))
        return Verdict.REBOOTED if rebooted else Verdict.SILENT

    def watched_for(self, key: str, version: float, asked: float) -> float:
        """Seconds from after `version` of `key` was first read to before it was read now; 0 the first time."""
        seen, first = self._seen.get(key, (None, 0.0))
        if seen != version:
            self._seen[key] = (version, self._clock.boottime())
            return 0.0
        return asked - first

    def forget_others(self, sessions: Iterable[str]) -> None:
        keep = set(sessions)
        for session in [name for name in self._seen if name not in keep]:
            del self._seen[session]

    def export(self) -> dict[str, tuple[float, float]]:
        """What was seen, for a later process of this boot to go on from."""
        return dict(self._seen)

    def load(self, seen: dict[str, tuple[float, float]]) -> None:
        self._seen.update(seen)

    def _seen_dead(self, holder: Holder) -> bool:
        if holder.pid is None or holder.space != self._host.space:
            return False
        if holder.guard is not None and not self._host.process_gone(holder.guard, holder.guard_start):
            return False  # its guard lives, and will end the session once the children are dead
        return self._host.process_gone(holder.pid, holder.start)


def _booted_since(holder: Holder, machine: str, boot: str) -> bool:
    return machine == holder.machine and boot.partition("/")[0] != holder.boot.partition("/")[0]
