"""What a queue in LMDB shows. Each look sees one moment; a listing one a page, so that pages of old need not stay."""

from collections.abc import Callable, Iterator
from heapq import merge
from itertools import islice
from typing import Any, TypeVar

from dibs.clock import Clock
from dibs.errors import BadInput, TaskNotFound
from dibs.facets import Filter, facet_of
from dibs.queues.lmdb import due
from dibs.queues.lmdb.cells import Cells
from dibs.queues.lmdb.claimer import facet_of_code
from dibs.queues.lmdb.database import Database, Transaction
from dibs.queues.lmdb.known import Known, claim_of, history, known_as
from dibs.queues.lmdb.layout import (
    BLOCKED,
    CELL,
    COUNT,
    COUNTS,
    ENDED_AS,
    IS_LEAVING,
    IS_READY,
    IS_SCHEDULED,
    LEASE,
    MICRO,
    NUMBERS,
    PAUSED_KEY,
    READY,
    RECORD,
    SCHEDULED,
    STATES,
    Standing,
)
from dibs.queues.views import Claim, Detail, Stats
from dibs.states import TERMINAL, State, seen
from dibs.task import Task

Answer = TypeVar("Answer")
PAGE = 200
ORDER = (
    State.CLAIMED, State.READY, State.SCHEDULED, State.BLOCKED, State.FAILED, State.CANCELLED, State.COMPLETED,
)  # fmt: skip
_TABLES = {State.CLAIMED: LEASE, State.READY: READY, State.SCHEDULED: SCHEDULED, State.BLOCKED: BLOCKED}


class Looks:
    def __init__(self, database: Database, clock: Clock, url: str) -> None:
        self._database = database
        self._clock = clock
        self._url = url

    def find(self, ref: str) -> Known:
        return self.seen(lambda cells: self._found(cells, ref))

    def get(self, ref: str) -> Task:
        return self.seen(lambda cells: due.shown(self._found(cells, ref), cells.wall / MICRO))

    def detail(self, ref: str) -> Detail:
        return self.seen(lambda cells: self._detail(cells, self._found(cells, ref)))

    def tasks(self, state: str | None, wanted: Filter, limit: int | None, *, newest: bool = False) -> Iterator[Task]:
        """`newest`: of a state that is over, what ended last first."""
        if state is not None and state not in list(State):
            raise BadInput(f"state {state!r} is not known; use one of {', '.join(State)}")
        now = self._clock.wall()
        found = (
            due.shown(known, now)
            for kind in (ORDER if state is None else (State(state),))
            for known in (self.listed(table_of(NUMBERS[kind]), newest=True) if newest else self._each(kind, now))
            if not wanted or wanted(facet_of(known.task))
        )
        return islice(found, limit)

    def _each(self, state: State, now: float) -> Iterator[Known]:
        """What a claim of that moment would find in a state: what is due is among what is ready."""
        if state is State.SCHEDULED:
            return self.listed(SCHEDULED, after=due.until(now))
        listed = self.listed(table_of(NUMBERS[state]))
        ready_too = self._database.read(lambda txn: due.in_order(txn, now)) if state is State.READY else []
        if not ready_too:
            return listed
        return merge(listed, self._due(ready_too, now), key=lambda known: -known.task.priority)

    def _due(self, tasks: list[tuple[int, bytes]], now: float) -> Iterator[Known]:
        for _, task in tasks:
            known = self._database.read(lambda txn, task=task: _whole(txn, task))  # type: ignore[misc]
            if known is not None and seen(known.cell, now).state is State.READY:
                yield known

    def claims(self) -> list[Claim]:
        def look(cells: Cells) -> list[Claim]:
            found = (_whole(cells.txn, key[-16:]) for key in _keys(cells.txn, LEASE))
            return [claim_of(cells, known) for known in found if known is not None]

        return self.seen(look)

    def stats(self) -> Stats:
        return self.seen(_stats)

    def paused(self) -> str | None:
        return self.seen(_paused)

    def listed(self, table: bytes, *, newest: bool = False, after: bytes = b"") -> Iterator[Known]:
        """What moves meanwhile may be missed or seen in its new state."""
        after, keys = (b"", _keys_back) if newest else (after or table, _keys)
        while True:
            page, after = self._database.read(lambda txn, after=after: _page(keys(txn, table, after), txn))  # type: ignore[misc]
            yield from page
            if not after:
                return

    def ids(self, table: bytes) -> list[str]:
        return self._database.read(lambda txn: [key[-16:].hex() for key in _keys(txn, table)])

    def seen(self, look: Callable[[Cells], Answer]) -> Answer:
        return self._database.read(lambda txn: look(Cells(txn, self._clock)))

    def _found(self, cells: Cells, ref: str) -> Known:
        task = cells.resolve(ref)
        data = None if task is None else cells.get(CELL + task)
        if task is None or data is None:
            raise not_found(ref, self._url)
        standing = Standing(data)
        if standing.state == IS_LEAVING:
            raise not_found(ref, self._url, cells.get(standing.place(task)))
        return known_as(task, standing, cells.get(RECORD + task) or b"")

    def _detail(self, cells: Cells, found: Known) -> Detail:
        cell = seen(found.cell, cells.wall / MICRO)
        state = cell.state
        past = history(cells, found)
        errors = [event.error for event in past if event.error]
        completed = past[-1] if state is State.COMPLETED else None
        return Detail(
            task=found.task.standing(cell),
            due=cell.due or None,
            claim=claim_of(cells, found) if state is State.CLAIMED else None,
            history=past,
            result=completed.result if completed else None,
            error=errors[-1] if errors and not completed else "",
            ended_at=found.standing.when / MICRO if state in TERMINAL else None,
            waits_for=tuple((ref, _state_of(cells, ref)) for ref in found.task.after),
            paused=_paused(cells),
        )


def table_of(state: int) -> bytes:
    """How the keys of those in a state begin."""
    if state < len(STATES) and STATES[state] in _TABLES:
        return _TABLES[STATES[state]]
    return ENDED_AS[state]


def not_found(ref: str, url: str, leaving: bytes | None = None) -> TaskNotFound:
    """`leaving`: the address that it is on its way to, if it is."""
    hint = f"it is on its way to {leaving.decode()}" if leaving else "`dibs list` shows what there is"
    return TaskNotFound(f"no task with id or key {ref!r} in {url}; {hint}")


def _page(keys: Iterator[bytes], txn: Transaction) -> tuple[list[Known], bytes]:
    """A page of tasks, and behind which key the next begins; empty when there is none."""
    found: list[Known] = []
    last = b""
    for number, key in enumerate(keys):
        if number == PAGE:
            return found, last
        last = key
        known = _whole(txn, key[-16:])
        if known is not None:
            found.append(known)
    return found, b""


def _keys(txn: Transaction, table: bytes, after: bytes = b"") -> Iterator[bytes]:
    with txn.cursor() as cursor:
        if cursor.set_range(max(table, after)):
            for key in cursor.iternext(keys=True, values=False):
                if not key.startswith(table):
                    return
                if key != after:
                    yield key


def _keys_back(txn: Transaction, table: bytes, before: bytes = b"") -> Iterator[bytes]:
    """The same from the end."""
    with txn.cursor() as cursor:
        there = cursor.set_range(before or table + b"\xff" * 40)
        if there and not cursor.prev():
            return  # what follows the table is the first of all
        if there or cursor.last():
            for key in cursor.iterprev(keys=True, values=False):
                if not key.startswith(table):
                    return
                yield key


def _whole(txn: Transaction, task: bytes) -> Known | None:
    data, record = txn.get(CELL + task), txn.get(RECORD + task)
    return None if data is None or record is None else known_as(task, Standing(data), record)


def _state_of(cells: Cells, ref: str) -> str:
    task = cells.resolve(ref)
    state = None if task is None else cells.state(task)
    return "unknown" if state is None or state == IS_LEAVING else str(STATES[state])


def _paused(cells: Cells) -> str | None:
    reason = cells.get(PAUSED_KEY)
    return None if reason is None else reason.decode()


def _stats(cells: Cells) -> Stats:
    totals: dict[str, int] = dict.fromkeys(State, 0)
    tables: tuple[dict[Any, dict[str, int]], ...] = ({}, {}, {})
    ready_too = due.facets(cells.txn, cells.wall / MICRO)
    for key in _keys(cells.txn, COUNT):
        counts = list(COUNTS.unpack(cells.get(key)))
        counts[IS_SCHEDULED] -= ready_too[key[1:]]
        counts[IS_READY] += ready_too[key[1:]]
        if not any(counts):
            continue
        facet = facet_of_code(cells.txn, key[1:])
        projects = () if facet.project is None else (facet.project,)
        for state, number in zip(STATES, counts, strict=False):  # one more: those on their way to other queues
            if not number:
                continue
            totals[state] += number
            for table, names in zip(tables, ((facet.priority,), projects, facet.labels), strict=True):
                for name in names:
                    row = table.setdefault(name, {})
                    row[state] = row.get(state, 0) + number
    workers = {cells.get(key) for key in _keys(cells.txn, LEASE)}
    return Stats(
        states=totals,
        priorities=tables[0],
        projects=tables[1],
        labels=tables[2],
        workers=len(workers),
        paused=_paused(cells),
    )
