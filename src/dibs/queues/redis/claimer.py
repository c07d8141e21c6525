"""Claiming: one script, whatever the filter; and what to do when its answer got lost.

The deadline of what was claimed counts from before the script was sent. A claim whose answer was lost is found by the
name that was sent with it, which is never used again; what is found late is given back.
"""

import random
from collections.abc import Sequence
from contextlib import suppress
from threading import Lock, local
from typing import Any, NamedTuple

from dibs.clock import Clock
from dibs.errors import BadInput
from dibs.facets import EVERYTHING, Facet, Filter, facet_from_record
from dibs.queues.redis.answers import micro, pairs, seconds
from dibs.queues.redis.server import Server, Unanswered
from dibs.queues.redis.workers import Workers
from dibs.task import PRIORITY_LIMIT, decode

PAGE = 500
TRIES = 5
UPKEEP_SECONDS = 1.0  # between two looks at what ran out or is due, while there is work
TIDY_SECONDS = 5.0
_LINE = 1 << 40  # as in kept.lua
_WHOLE = 6  # parts of an answer that tells more than what was claimed


class Taken(NamedTuple):
    records: Sequence[bytes]
    standings: Sequence[bytes]  # for each '' when it is plain and held for the first time; or nothing: all are
    holder: str
    sent: float  # boottime


def taken(answer: Sequence[Any], holder: str, sent: float) -> Taken:
    return Taken(answer[0], answer[1] if len(answer) > 1 else (), holder, sent)


class Claimer:
    """Safe for threads."""

    def __init__(self, server: Server, workers: Workers, clock: Clock, rng: random.Random) -> None:
        self._server = server
        self._workers = workers
        self._clock = clock
        self._rng = rng
        self._facets: dict[str, Facet] = {}
        self._known = 0  # records of facets, damaged ones too
        self._lock = Lock()
        self._upkeep_at = self._tidy_at = float("-inf")
        self._mine = local()

    @property
    def wait(self) -> float | None:
        """After a look of this thread that found nothing: when the next may find something; None when never."""
        found: float | None = getattr(self._mine, "wait", None)
        return found

    def claim(self, limit: int, ttl: float, wanted: Filter, guard: int | None) -> Taken:
        """Up to `limit` tasks (a PAGE at most), in as many scripts as it takes to look everywhere."""
        buried = False
        while True:
            found, answer = self._asked(limit, ttl, wanted, guard)
            if found.records:
                return found
            wait = answer[3].decode()
            if wait == "0":
                continue
            self._mine.wait = seconds(wait) if wait else None
            if buried or not self.bury():
                return found
            buried = True

    def request(self, limit: int, ttl: float, wanted: Filter, guard: int | None) -> tuple[str, list[Any]]:
        """The name to claim under, and the arguments of `claim`."""
        holder = self._workers.holder()
        introduction = self._workers.introduction(guard)
        arguments = [limit, micro(ttl), holder, self._workers.boot, self._upkeep_due()]
        if introduction or wanted:
            start, known, codes = self._wanted(wanted)
            arguments += [start, known, introduction, self._workers.machine, *codes]
        return holder, arguments

    def heard(self, answer: Sequence[Any], guard: int | None) -> None:
        """What else an answer tells."""
        if len(answer) < _WHOLE:
            return
        self._workers.introduced(guard)
        if answer[4]:
            self._learn(pairs(answer[4]))
        if answer[5] is not None:
            self._workers.heard(pairs(answer[5]))

    def tend(self) -> None:
        """What a claimer does besides: take back what ran out, make ready what is due, bury the dead."""
        while self._asked(0, 1.0, EVERYTHING, None)[1][3] == b"0":
            continue
        self.bury()

    def bury(self) -> bool:
        """Give back what dead workers of this host held. True when there were any."""
        dead = self._workers.dead()
        for name, entry in dead:
            offset = 0
            while True:
                seen = self._server.ask("bury", name, entry, offset, PAGE, self._rng.random())
                if not seen or seen[0] < PAGE:
                    break
                offset += seen[0] - seen[1]
            self._workers.forget(name)
        return bool(dead)

    def _asked(self, limit: int, ttl: float, wanted: Filter, guard: int | None) -> tuple[Taken, Sequence[Any]]:
        holder, arguments = self.request(limit, ttl, wanted, guard)
        for left in reversed(range(TRIES)):
            sent = self._clock.boottime()
            try:
                answer = self._server.ask("claim", *arguments, twice=False)
                self.heard(answer, guard)
                return taken(answer, holder, sent), answer
            except Unanswered:
                if not left:
                    raise
                found = self.claimed_as(holder, sent)
                if found.records:
                    return found, ()
        raise AssertionError("unreachable")

    def claimed_as(self, holder: str, sent: float) -> Taken:
        """What a claim got whose answer was lost."""
        records: list[bytes] = []
        standings: list[bytes] = []
        offset = 0
        while True:
            seen, more, their_standings = self._server.ask("mine", holder, offset, PAGE)
            records += more
            standings += their_standings
            offset += seen
            if seen < PAGE:
                return Taken(records, standings, holder, sent)

    def _upkeep_due(self) -> int:
        """How much of it, as claiming.lua has it."""
        now = self._clock.boottime()
        with self._lock:
            if now < self._upkeep_at:
                return 0
            self._upkeep_at = now + UPKEEP_SECONDS
            if now < self._tidy_at:
                return 1
            self._tidy_at = now + TIDY_SECONDS
            return 2

    # Filters

    def _wanted(self, wanted: Filter) -> tuple[str, int, list[str]]:
        """(first place in line, number of facets known or -1, codes of wanted facets)"""
        start = "-inf"
        if wanted.max_priority is not None:
            start = str((PRIORITY_LIMIT - wanted.max_priority) * _LINE)
        if wanted.project is None and not wanted.labels:
            return start, -1, []
        facets = self._facets
        codes = [code for code, facet in facets.items() if wanted(facet)]
        return start, self._known, sorted(codes, key=lambda code: -facets[code].priority)

    def _learn(self, records: dict[str, str]) -> None:
        facets = {}
        for code, record in records.items():
            with suppress(BadInput):
                facets[code] = facet_from_record(decode(record.encode()))
        self._facets, self._known = facets, len(records)
