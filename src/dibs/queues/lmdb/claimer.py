"""Claiming: one write transaction when something is ready; reading alone while nothing is.

The deadline of what was claimed counts from the time that stands in its lease: on one boot all share that clock.
"""

import random
from collections.abc import Callable
from contextlib import suppress
from threading import local
from typing import NamedTuple

from dibs.clock import Clock
from dibs.errors import BadInput
from dibs.facets import Facet, Filter, facet_from_record, plain_facet
from dibs.queues.lmdb.cells import Cells
from dibs.queues.lmdb.chaining import chain
from dibs.queues.lmdb.database import Database, Transaction
from dibs.queues.lmdb.held import Held
from dibs.queues.lmdb.layout import (
    FACET,
    LOWEST,
    MICRO,
    PAUSED_KEY,
    READY,
    READY_OF,
    WORKER,
    facet_at,
)
from dibs.queues.lmdb.taking import One, Taking
from dibs.queues.lmdb.upkeep import Chores, Upkeep
from dibs.queues.lmdb.workers import Workers
from dibs.task import decode

PAGE = 1000
TEND_SECONDS = 0.05  # how often a claimer that finds work looks for what ran out or is due
RESCUE_SECONDS = 1.0  # and for dead workers
_NOTHING = Chores()


class Taken(NamedTuple):
    tasks: list[One]
    worker: str
    holder: bytes
    since: float  # boottime


class Claimer:
    """Safe for threads."""

    def __init__(self, database: Database, workers: Workers, upkeep: Upkeep, clock: Clock, rng: random.Random) -> None:
        self._database = database
        self._workers = workers
        self._upkeep = upkeep
        self._clock = clock
        self._rng = rng
        self._facets: dict[bytes, Facet] = {}
        self._taking = Taking(database.folder)
        self._idle = False
        self._tend_at = self._rescue_at = float("-inf")
        self._mine = local()

    @property
    def wait(self) -> float | None:
        """After a look of this thread that found nothing: when the next may find something; None when never."""
        found: float | None = getattr(self._mine, "wait", None)
        return found

    def claim(self, limit: int, ttl: float, wanted: Filter, guard: int | None) -> Taken:
        """Up to `limit` tasks (a PAGE at most)."""
        limit = min(limit, PAGE)
        if not self._idle:
            found = self._write(limit, ttl, wanted, guard, self._rescue())
            if found.tasks:
                return found
        while True:
            chores, ready = self._database.read(lambda txn: self._look(txn, wanted))
            if not ready and not chores.any:
                self._idle = True
                self._mine.wait = chores.wait
                return Taken([], "", b"", 0.0)
            found = self._write(limit, ttl, wanted, guard, chores)
            if found.tasks:
                self._idle = False
                return found

    def claim_after(
        self, before: Callable[[Cells], bool], ttl: float, wanted: Filter, guard: int | None, limit: int = 1
    ) -> Taken:
        """Up to `limit` tasks (a PAGE at most), in one transaction with what comes before; none when that is False."""
        return self._write(min(limit, PAGE), ttl, wanted, guard, self._rescue(), before)

    def chain(self, held: Held, ttl: float, guard: int | None) -> Taken | None:
        """Complete it and claim any other; None when nothing was done, since it is not as plain as that."""
        now, workers = self._clock.boottime(), self._workers
        boot = workers.known_boot
        name, worker, holder = workers.claiming()
        if boot is None or now >= min(self._tend_at, self._rescue_at) or workers.introduction(name, guard, now):
            return None
        found = chain(self._database, self._taking, self._clock, held, worker, holder, boot, ttl)
        return None if found is None else Taken([found[0]], name, holder, found[1])

    def tend(self) -> None:
        """Only what a claimer does besides."""
        while (chores := self._database.read(self._upkeep.chores)).any:
            self._database.write(lambda txn, chores=chores: self._do(txn, chores))  # type: ignore[misc]

    def _do(self, txn: Transaction, chores: Chores) -> None:
        cells = Cells(txn, self._clock)
        self._upkeep.do(cells, chores)
        cells.finish()

    def _rescue(self) -> Chores:
        """Of a claimer that is busy: what dead workers held, now and then."""
        now = self._clock.boottime()
        if now < self._rescue_at:
            return _NOTHING
        self._rescue_at = now + RESCUE_SECONDS
        return self._database.read(self._upkeep.chores)

    def _look(self, txn: Transaction, wanted: Filter) -> tuple[Chores, bool]:
        ready = txn.get(PAUSED_KEY) is None and bool(self.candidates(txn, wanted, 1))
        return self._upkeep.chores(txn), ready

    def _write(
        self,
        limit: int,
        ttl: float,
        wanted: Filter,
        guard: int | None,
        chores: Chores,
        before: Callable[[Cells], bool] | None = None,
    ) -> Taken:
        name, worker, holder = self._workers.claiming()
        now = self._clock.boottime()
        introduction = self._workers.introduction(name, guard, now)
        tend = chores.any or now >= self._tend_at
        if tend:
            self._tend_at = now + TEND_SECONDS

        def step(txn: Transaction) -> Taken:
            cells = Cells(txn, self._clock)
            if before is not None and not before(cells):
                return Taken([], name, holder, 0.0)
            if tend:
                self._upkeep.do(cells, chores)
                self._upkeep.tidy(cells)
            tasks: list[One] = []
            since = 0.0
            if txn.get(PAUSED_KEY) is None and (ids := self.candidates(txn, wanted, limit)):
                if introduction is not None:
                    txn.put(WORKER + worker, introduction)
                boot = self._workers.boot(txn, write=True)
                since = self._clock.boottime()
                terms = worker, holder, boot, int(since * MICRO), int(ttl * MICRO)
                tasks = self._taking.take(cells, ids, terms)
            cells.finish()
            return Taken(tasks, name, holder, since)

        found = self._database.write(step)
        if found.tasks and introduction is not None:
            self._workers.introduced(name, guard, now)
        return found

    # What there is

    def candidates(self, txn: Transaction, wanted: Filter, limit: int) -> list[bytes]:
        """Ready tasks that are wanted, in order."""
        top = b"" if wanted.max_priority is None else (LOWEST - wanted.max_priority).to_bytes(2)
        if wanted.project is not None or wanted.labels:
            return self._of_facets(txn, wanted, READY_OF + top, limit)
        if limit == 1:
            cursor = txn.cursor()
            return [cursor.key()[3:]] if cursor.set_range(READY + top) and cursor.key()[:1] == READY else []
        found: list[bytes] = []
        with txn.cursor() as cursor:
            if cursor.set_range(READY + top):
                for key in cursor.iternext(keys=True, values=False):
                    if key[:1] != READY:
                        break
                    found.append(key[3:])
                    if len(found) == limit:
                        break
        return found

    def _of_facets(self, txn: Transaction, wanted: Filter, start: bytes, limit: int) -> list[bytes]:
        """The best of the wanted facets, which come in groups of one priority. Of the others one key is read."""
        found: list[bytes] = []
        group: list[bytes] = []
        priority = b""
        with txn.cursor() as cursor:
            while cursor.set_range(start) and (key := cursor.key())[:1] == READY_OF:
                line = key[:-16]
                if line[1:3] != priority:
                    found += sorted(group)
                    priority, group = line[1:3], []
                    if len(found) >= limit:
                        break
                facet = self._facet(txn, facet_at(key))
                if facet is not None and wanted(facet):
                    for number, other in enumerate(cursor.iternext(keys=True, values=False)):
                        if number == limit or not other.startswith(line):
                            break
                        group.append(other[-16:])
                start = line + b"\xff" * 17
        return (found + sorted(group))[:limit]

    def _facet(self, txn: Transaction, code: bytes) -> Facet | None:
        facet = self._facets.get(code)
        if facet is None:
            with suppress(BadInput):
                facet = facet_of_code(txn, code)
                self._facets[code] = facet
        return facet


def facet_of_code(txn: Transaction, code: bytes) -> Facet:
    """Raises BadInput when its record is missing or damaged."""
    return plain_facet(code.decode()) or facet_from_record(decode(txn.get(FACET + code) or b"{}"))
