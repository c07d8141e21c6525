"""Claim: one statement, whatever waits in the queue. It may also say what is overdue, so an idle look costs no more.

A claim whose answer was lost is looked for by the moment at which it was sent; what is not found then has not happened,
or runs out like any lease that nobody renews.
"""

from collections.abc import Callable
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

from dibs.clock import Clock
from dibs.errors import BadInput
from dibs.facets import Filter
from dibs.liveness import DRIFT, MARGIN_SECONDS
from dibs.queues.postgres import texts
from dibs.queues.postgres.bookmark import Bookmark
from dibs.queues.postgres.database import Database
from dibs.queues.postgres.driver import Connection, Row
from dibs.queues.postgres.rows import record_of
from dibs.states import Cell, State

_CLAIMED = State.CLAIMED
_RECORD, _PRIORITY = itemgetter(3), itemgetter(4)


class Taken(NamedTuple):
    record: dict[str, Any]
    cell: Cell
    sent: float  # boottime before it was asked for


# Quicker than by keyword: a claim of hundreds makes hundreds.
_taken: Callable[[tuple[dict[str, Any], Cell, float]], Taken] = partial(tuple.__new__, Taken)
_cell: Callable[[tuple[State, int, int, int, str, float]], Cell] = partial(tuple.__new__, Cell)


class Found(NamedTuple):
    taken: list[Taken]
    damaged: list[tuple[str, Cell]]  # by id: somebody has changed its record
    due: float | None = None  # seconds until the next scheduled task is due, and the next lease runs out
    expires: float | None = None
    blocked: bool = False


class Claimer:
    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._mark = Bookmark(database.sent)

    def grab(self, limit: int, ttl: float, wanted: Filter, session: str) -> Found:
        """Up to `limit` ready tasks, and nothing else: of what may be overdue nothing is said."""
        rows, sent = self._safely("grab", limit, ttl, wanted, session)
        return self.found(in_order(rows), session, sent, wanted, limit)

    def claim(self, limit: int, ttl: float, wanted: Filter, session: str) -> Found:
        """As `grab`, with what else a claimer wants to know."""
        self._mark.drop()
        rows, sent = self._safely("claim", limit, ttl, wanted, session)
        now, due, expires, blocked = rows[0][5:]
        self._database.hear(now)
        found = self.found(rows, session, sent, wanted, limit)
        return found._replace(due=due, expires=expires, blocked=blocked)

    def _safely(self, verb: str, limit: int, ttl: float, wanted: Filter, session: str) -> tuple[list[Row], float]:
        """The rows, and the boottime before they were asked for."""
        sent = 0.0

        def work(connection: Connection) -> list[Row]:
            nonlocal sent
            if sent and (found := self._database.ask(connection, "recover", session=session, sent=sent)):
                return found
            sent = self._clock.boottime()
            return self.ask(connection, verb, limit, ttl, wanted, session, sent)

        rows = self._database.safely(work)
        return rows, sent

    def found(self, rows: list[Row], session: str, sent: float, wanted: Filter, limit: int) -> Found:
        """What the rows of a claim are, in order, where it says nothing else."""
        found = Found(*self._parted(rows, session, sent))
        if len(found.taken) == limit:
            self._mark.move(wanted, rows[-1][4], found.taken[-1].record["id"])
        else:
            self._mark.drop()
        return found

    def ask(
        self,
        connection: Connection,
        verb: str,
        limit: int,
        ttl: float,
        wanted: Filter,
        session: str,
        sent: float,
        **more: Any,
    ) -> list[Row]:
        words, values = wanted_words(wanted)
        rank, behind = self._mark.place(wanted)
        values |= {"session": session, "sent": sent, "ttl": ttl, "lasts": ttl * DRIFT + MARGIN_SECONDS}
        values |= {"rank": rank, "behind": behind} | more
        parts = {"wanted": words, "limit": str(int(limit))}
        if not wanted.labels or self._database.address.pooler:
            return self._database.ask(connection, verb, parts, **values)
        with self._database.transaction(connection):  # which index is best depends on how rare the label is
            self._database.ask(connection, "plan_freely")
            return self._database.ask(connection, verb, parts, **values)

    def _parted(self, rows: list[Row], session: str, sent: float) -> tuple[list[Taken], list[tuple[str, Cell]]]:
        """Those that can be worked on, and those whose record cannot be read."""
        taken = []
        damaged = False
        for row in rows:
            epoch, attempts, deaths, text = row[:4]
            if epoch is not None:
                try:
                    cell = _cell((_CLAIMED, epoch, attempts, deaths, session, 0.0))
                    taken.append(_taken((record_of(text), cell, sent)))
                except BadInput:
                    damaged = True
        return taken, self._damaged(session, sent) if damaged else []

    def _damaged(self, session: str, sent: float) -> list[tuple[str, Cell]]:
        found = []
        for task_id, epoch, attempts, deaths, text in self._database.get("damaged", session=session, sent=sent):
            try:
                record_of(text)
            except BadInput:
                found.append((task_id.hex, Cell(_CLAIMED, epoch, attempts, deaths, session)))
        return found


def in_order(rows: list[Row]) -> list[Row]:
    """They come in the order of their places in the table. A record begins with its id."""
    if len(rows) > 1:
        rows.sort(key=_RECORD)
        rows.sort(key=_PRIORITY, reverse=True)
    return rows


def wanted_words(wanted: Filter, of: str = "") -> tuple[str, dict[str, Any]]:
    """What a filter is in SQL, and its values."""
    words: list[str] = []
    values: dict[str, Any] = {}
    if wanted.project is not None:
        words.append(f"{of}project = %(project)s")
        values["project"] = texts.put(str(wanted.project))
    if wanted.labels:
        words.append(f"{of}labels @> %(labels)s::text[] AND {of}labels <> '{{}}'")
        values["labels"] = texts.array(tuple(sorted(map(str, wanted.labels))))
    if wanted.max_priority is not None:
        words.append(f"{of}priority <= %(max_priority)s")
        values["max_priority"] = wanted.max_priority
    return "".join(f" AND {word}" for word in words), values
