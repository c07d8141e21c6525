"""What the queue shows. Each look is a statement, or one for each page of a list; nothing is locked."""

from collections.abc import Callable, Iterator
from functools import cache
from heapq import merge
from itertools import islice
from typing import Any

from dibs.errors import BadInput, TaskNotFound
from dibs.facets import Filter
from dibs.queues.postgres import texts
from dibs.queues.postgres.claiming import wanted_words
from dibs.queues.postgres.database import Database
from dibs.queues.postgres.driver import Connection, Row
from dibs.queues.postgres.rows import Known, known_of, task_of
from dibs.queues.postgres.waits import Waits
from dibs.queues.views import Claim, Detail, Stats
from dibs.states import Cell, State, seen
from dibs.task import Task, is_id
from dibs.values import replace

PAGE = 500
ORDER = (
    State.CLAIMED, State.READY, State.SCHEDULED, State.BLOCKED, State.FAILED, State.CANCELLED, State.COMPLETED,
)  # fmt: skip
LEAVING = "leaving"
Place = tuple[float, str]
START: Place = (-10_000, "0" * 32)
END: Place = (1e300, "f" * 32)
Now = Callable[[], float]
_RANKS: dict[str, str] = {State.READY: "-t.priority", State.CLAIMED: ""}  # of what is held `at` moves


class Looks:
    def __init__(self, database: Database, waits: Waits) -> None:
        self._database = database
        self._waits = waits

    def known(self, ref: str) -> Known:
        which, value = ("t.id = %(ref)s", ref) if is_id(ref) else ("t.key = %(ref)s", texts.put(ref))
        try:
            value.encode()
            rows = self._database.get("find", {"which": which}, ref=value)
        except UnicodeEncodeError:
            rows = []
        if not rows:
            raise self._not_found(ref, "`dibs list` shows what there is")
        *row, moved_to = rows[0]
        if moved_to is not None:
            raise self._not_found(ref, f"it is on its way to {moved_to}")
        return known_of(tuple(row))

    def _not_found(self, ref: str, hint: str) -> TaskNotFound:
        return TaskNotFound(f"no task with id or key {ref!r} in {self._database.address.shown}; {hint}")

    def tasks(self, state: str | None, wanted: Filter, limit: int | None, *, newest: bool = False) -> Iterator[Task]:
        """`newest`: of a state that is over, what ended last first."""
        if state is not None and state not in list(State):
            raise BadInput(f"state {state!r} is not known; use one of {', '.join(State)}")
        kinds = ORDER if state is None else (State(state),)
        now: Now = cache(lambda: self._database.get("time")[0][0])  # one look, one moment
        return islice((task for kind in kinds for task in self._each(kind, wanted, newest, now)), limit)

    def _each(self, state: State, wanted: Filter, newest: bool, now: Now) -> Iterator[Task]:
        """What a claim of that moment would find in a state: what is due is among what is ready."""
        if newest:
            return self._listed(state, wanted, backwards(), END)
        if state is State.SCHEDULED:
            return self._listed(state, wanted, paged(state), START, " AND t.at > %(now)s", now=now())
        listed = self._listed(state, wanted, paged(state), START)
        if state is not State.READY:
            return listed
        due = self._listed(State.SCHEDULED, wanted, paged(state), START, " AND t.at <= %(now)s", now=now())
        return merge(listed, map(_made_due, due), key=lambda task: -task.priority)

    def _listed(
        self, state: State, wanted: Filter, order: dict[str, str], last: Place, which: str = "", **more: Any
    ) -> Iterator[Task]:
        words, values = wanted_words(wanted, "t.")
        parts = {"wanted": words + which, "state": f"'{state}'", **order}
        size = 20
        while True:
            parts["limit"] = str(size)
            rows = self._database.get("list", parts, last=last[0], after=last[1], **values, **more)
            for _, task_id, kind, epoch, attempts, deaths, record in rows:
                yield task_of(record, Cell(State(kind), epoch, attempts, deaths), task_id.hex)
            if len(rows) < size:
                return
            last, size = (rows[-1][0], rows[-1][1].hex), PAGE

    def claimed(self) -> list[Claim]:
        return [
            Claim(
                id=task_id.hex,
                key=None if key is None else texts.taken_out(key),
                epoch=epoch,
                worker=holder,
                host=host or "unknown",
                pid=pid,
                claimed_at=since,
                heartbeat_at=renewed,
                expires_at=renewed + ttl,
                ttl=ttl,
            )
            for task_id, key, epoch, holder, host, pid, since, renewed, ttl in self._database.get("claimed")
        ]

    def get(self, ref: str) -> Task:
        known = self.known(ref)
        return known.task.standing(seen(known.cell, known.now))

    def detail(self, ref: str, paused: str | None) -> Detail:
        known = self.known(ref)
        cell = seen(known.cell, known.now)
        task = known.task.standing(cell)
        errors = [event.error for event in known.history if event.error]
        completed = known.history[-1] if cell.state is State.COMPLETED and known.history else None
        return Detail(
            task=task,
            due=cell.due or None,
            claim=_claim(known, task.key) if cell.state is State.CLAIMED else None,
            history=known.history,
            result=completed.result if completed else None,
            error=errors[-1] if errors and not completed else "",
            ended_at=known.ended or None,
            waits_for=self._waits.standing(task),
            paused=paused,
        )

    def _count(self, connection: Connection) -> list[Row]:
        with self._database.transaction(connection):
            if not self._database.address.pooler:
                self._database.ask(connection, "plan_freely")
            return self._database.ask(connection, "count")

    def stats(self, paused: str | None) -> Stats:
        states: dict[str, int] = dict.fromkeys(State, 0)
        tables: tuple[dict[Any, dict[str, int]], ...] = ({}, {}, {})
        for state, priority, project, labels, count in self._database.safely(self._count):
            states[state] += count
            projects = () if project is None else (texts.taken_out(project),)
            for table, names in zip(tables, ((priority,), projects, map(texts.taken_out, labels)), strict=True):
                for name in names:
                    row = table.setdefault(name, {})
                    row[state] = row.get(state, 0) + count
        priorities, by_project, by_label = tables
        workers = self._database.get("count_workers")[0][0]
        return Stats(
            states=states, priorities=priorities, projects=by_project, labels=by_label, workers=workers, paused=paused
        )


def _made_due(task: Task) -> Task:
    return replace(task, state=State.READY)


def paged(state: str) -> dict[str, str]:
    """The order of a list, as an index has it, and how to go on behind its last one."""
    rank = _RANKS.get(state, "t.at")
    if not rank:
        return {"rank": "0", "order": "t.id", "behind": "%(last)s::integer IS NOT NULL AND t.id > %(after)s::uuid"}
    return {"rank": rank, "order": f"{rank}, t.id", "behind": f"({rank}, t.id) > (%(last)s, %(after)s::uuid)"}


def backwards() -> dict[str, str]:
    """The same for what is over, from its end: the index is read the other way round."""
    return {
        "rank": "t.at",
        "order": "t.at DESC, t.id DESC",
        "behind": "(t.at, t.id) < (%(last)s, %(after)s::uuid)",
    }


def _claim(known: Known, key: str | None) -> Claim:
    return Claim(
        id=known.id,
        key=key,
        epoch=known.cell.epoch,
        worker=known.cell.holder,
        host=known.host or "unknown",
        pid=known.pid,
        claimed_at=known.since,
        heartbeat_at=known.renewed,
        expires_at=known.renewed + known.ttl,
        ttl=known.ttl,
    )
