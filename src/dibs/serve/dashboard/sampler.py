"""Looks at one queue now and then, so that any number of people who watch cost no more than one.

A look may take one part in fifteen of the time. Where requests are paid for, only while somebody watches, and seldom.
Rates are differences of counts: what was purged between two looks is missing from them.
"""

import random
from typing import Any

from dibs.clock import Clock
from dibs.errors import DibsError, Unsupported
from dibs.queues.queue import Queue
from dibs.queues.views import Claim, Stats
from dibs.redact import redact
from dibs.serve.dashboard.seen import Seen
from dibs.serve.dashboard.series import Series
from dibs.serve.desk import Desk

WATCHED_SECONDS = 1.0
ALONE_SECONDS = 5.0
PAID_SECONDS = 30.0
TROUBLE_SECONDS = 10.0
MOST_NAMES = 200
_SHARE = 15


class Sampler:
    """`look` may block and is called by one thread at a time; what it found is read by any."""

    def __init__(self, desk: Desk, clock: Clock, rng: random.Random | None = None) -> None:
        self.name = desk.name
        self.series = Series()
        self.stats: Stats | None = None
        self.error = ""
        self.version = 0  # one more whenever something is different
        self._desk = desk
        self._clock = clock
        self._seen = Seen(desk.queue, rng or random.Random())
        self._looked: float | None = None
        self._took = 0.0
        self.paid = _is_paid(desk.queue)

    def look(self) -> None:
        began = self._clock.boottime()
        try:
            stats, claims = self._desk.look.stats(), self._claims()
        except DibsError as error:
            said = redact(str(error))
            self.version += said != self.error
            self.error = said
            self._looked = None  # what happened meanwhile is not known: no rate of it
            return
        now = self._clock.boottime()
        apart = 0.0 if self._looked is None else now - self._looked
        held = self._seen.names
        for took in self._seen.look(claims, apart):
            self.series.took(now, took.wait, took.run, took.weight)
        if apart > 0 and self.stats is not None:
            self.series.add(now, apart, _flows(self.stats, stats), stats.states)
        self.version += bool(self.error) or stats != self.stats or held != self._seen.names
        self.stats, self.error, self._looked = stats, "", now
        self._took = self._clock.boottime() - began

    def _claims(self) -> list[Claim]:
        try:
            return self._desk.look.claimed()
        except Unsupported:
            return []

    def pause(self, watched: bool) -> float | None:
        """Seconds until the next look; None: not before somebody watches."""
        if self.paid:
            return max(PAID_SECONDS, self._took * _SHARE) if watched else None
        least = TROUBLE_SECONDS if self.error else WATCHED_SECONDS if watched else ALONE_SECONDS
        return max(least, self._took * _SHARE)

    def to_json(self) -> dict[str, Any]:
        now = self._clock.boottime()
        stats = self.stats
        return {
            "name": self.name,
            "version": self.version,
            "error": self.error,
            "stats": None if stats is None else _shown(stats),
            "rates": {name: round(self.series.rate(now, name), 3) for name in ("pushed", "completed", "failed")},
            "line": self.series.line(now, "completed"),
        }


def absent(name: str, why: str) -> dict[str, Any]:
    """The same of a queue that cannot be reached at all."""
    rates = dict.fromkeys(("pushed", "completed", "failed"), 0.0)
    return {
        "name": name,
        "version": 0,
        "error": why,
        "stats": None,
        "rates": rates,
        "line": Series().line(0.0, "completed"),
    }


def _shown(stats: Stats) -> dict[str, Any]:
    """Of projects and labels, of which there may be thousands, only so many as a person would choose from."""
    return {
        "states": stats.states,
        "total": stats.total,
        "workers": stats.workers,
        "paused": stats.paused,
        "projects": sorted(stats.projects)[:MOST_NAMES],
        "labels": sorted(stats.labels)[:MOST_NAMES],
    }


def _flows(before: Stats, after: Stats) -> dict[str, int]:
    def more(state: str) -> int:
        return max(after.states.get(state, 0) - before.states.get(state, 0), 0)

    return {"pushed": max(after.total - before.total, 0), "completed": more("completed"), "failed": more("failed")}


def _is_paid(queue: Queue) -> bool:
    if not queue.capabilities.records:  # SQS
        return True
    try:
        queue.cost()
        return True
    except Unsupported:
        return False
    except DibsError:
        return True
