"""Which fault meets which request: by rule for the n-th of a kind, and by chance from a seed.

LOST        it took effect, then the connection closes without an answer
ERROR       500, and nothing was done        ERROR_LATE  500, though it took effect
SLOW_DOWN   503, and nothing was done        CONFLICT    409, and nothing was done
RESET       the connection is reset, and nothing was done
STALL       nothing for some seconds, then it is done, even when the client has gone meanwhile
TWICE       done twice; the second answer is returned
LAG         a listing answers what it answered some seconds ago
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from itertools import count
from threading import Lock

from servers.http1 import Request

WRITES = ("create", "replace", "put")
CONDITIONAL = ("create", "replace")


class Fault(StrEnum):
    LOST = "lost"
    ERROR = "error"
    ERROR_LATE = "error late"
    SLOW_DOWN = "slow down"
    CONFLICT = "conflict"
    RESET = "reset"
    STALL = "stall"
    TWICE = "twice"
    LAG = "lag"


_ONLY = {Fault.CONFLICT: CONDITIONAL, Fault.LAG: ("list",)}  # by chance; a rule says itself which it is for


@dataclass(frozen=True)
class Rule:
    """Meets `times` of the requests of these kinds (none named: all) whose key matches, from the `nth` on."""

    fault: Fault
    kinds: tuple[str, ...] = ()
    key: str = "*"
    nth: int = 1
    times: int = 1

    def matches(self, request: Request) -> bool:
        return (not self.kinds or request.kind in self.kinds) and fnmatchcase(request.key, self.key)


class Faults:
    """May be changed while requests pass. With chances alone, one seed gives the n-th request one fault."""

    def __init__(
        self,
        *rules: Rule,
        chances: Mapping[Fault, float] | None = None,
        seed: int = 0,
        stall_seconds: float = 1.0,
        lag_seconds: float = 1.0,
    ) -> None:
        self.stall_seconds = stall_seconds
        self.lag_seconds = lag_seconds
        self._chances = dict(chances or {})
        if sum(self._chances.values()) > 1:
            raise ValueError(f"chances add up to more than 1: {self._chances}")
        self._rng = random.Random(seed)
        self._rules = [(rule, count(1)) for rule in rules]
        self._lock = Lock()

    def add(self, *rules: Rule) -> None:
        with self._lock:
            self._rules += [(rule, count(1)) for rule in rules]

    def calm(self) -> None:
        """No more faults."""
        with self._lock:
            self._rules, self._chances = [], {}

    def choose(self, request: Request) -> Fault | None:
        with self._lock:
            return self._by_rule(request) or self._by_chance(request)

    def _by_rule(self, request: Request) -> Fault | None:
        chosen = None
        for rule, numbers in self._rules:
            if rule.matches(request):
                hit = rule.nth <= next(numbers) < rule.nth + rule.times
                if hit and chosen is None:
                    chosen = rule.fault
        return chosen

    def _by_chance(self, request: Request) -> Fault | None:
        draw = self._rng.random()
        for fault, chance in self._chances.items():
            draw -= chance
            if draw < 0:
                return fault if request.kind in _ONLY.get(fault, (request.kind,)) else None
        return None
