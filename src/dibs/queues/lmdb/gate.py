"""How whole tasks leave a queue in LMDB and come in. What has departed is in a state that no step knows."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from dibs.clock import Clock
from dibs.errors import TaskNotFound
from dibs.facets import facet_of
from dibs.queues.gate import Gate
from dibs.queues.history import LONGEST, event_record
from dibs.queues.keyed import taken
from dibs.queues.lmdb.cells import Cells
from dibs.queues.lmdb.database import Database, Transaction
from dibs.queues.lmdb.known import Known, history
from dibs.queues.lmdb.layout import (
    CELL,
    IS_BLOCKED,
    IS_CLAIMED,
    IS_COMPLETED,
    IS_LEAVING,
    IS_READY,
    IS_SCHEDULED,
    MICRO,
    NUMBERS,
    PAST,
    RECORD,
    STATES,
    Standing,
    binary,
    micro,
    new_cell,
)
from dibs.queues.lmdb.looks import Looks, table_of
from dibs.queues.lmdb.pusher import claim_key
from dibs.queues.lmdb.waits import forget_waits, free_waiting, must_wait
from dibs.queues.parcel import Outcome, Parcel
from dibs.queues.views import Event
from dibs.states import LIVE, TERMINAL, State
from dibs.task import encode, is_id
from dibs.values import replace

PAGE = 200


class LmdbGate(Gate):
    def __init__(self, address: str, database: Database, looks: Looks, tend: Callable[[], None], clock: Clock) -> None:
        self.address = address
        self._database = database
        self._looks = looks
        self._tend = tend
        self._clock = clock

    def tend(self) -> None:
        self._tend()

    # Out

    def export(self, state: State) -> Iterator[Parcel]:
        return (self._packed(found) for found in self._looks.listed(table_of(NUMBERS[state])))

    def ids(self, state: State) -> Iterator[str]:
        return iter(self._looks.ids(table_of(NUMBERS[state])))

    def find(self, ref: str) -> Parcel | None:
        try:
            return self._packed(self._looks.find(ref))
        except TaskNotFound:
            return None

    def depart(self, parcels: Sequence[Parcel], to: str) -> list[Parcel]:
        gone: list[Parcel] = []
        for start in range(0, len(parcels), PAGE):
            part = parcels[start : start + PAGE]

            def step(txn: Transaction, part: Sequence[Parcel] = part) -> list[bytes | None]:
                cells = Cells(txn, self._clock)
                left = [_depart(cells, parcel, to.encode()) for parcel in part]
                cells.finish()
                return left

            left = self._database.write(step, durable=True)
            gone += [replace(parcel, to=to, token=cell) for parcel, cell in zip(part, left, strict=True) if cell]
        return gone

    def departed(self, to: str | None = None) -> Iterator[Parcel]:
        packed = (self._packed(found) for found in self._looks.listed(table_of(IS_LEAVING)))
        return (parcel for parcel in packed if parcel.to and to in (None, parcel.to))

    def dismiss(self, parcels: Iterable[Parcel]) -> None:
        given = list(parcels)
        for start in range(0, len(given), PAGE):

            def step(txn: Transaction, part: list[Parcel] = given[start : start + PAGE]) -> None:
                cells = Cells(txn, self._clock)
                for parcel in part:
                    task = binary(parcel.id)
                    cell = cells.read(task)
                    # By this very departure, not by a later one.
                    if cell is not None and cell.state == IS_LEAVING and cell.packed() == parcel.token:
                        cells.forget(task, cell)
                cells.finish()

            self._database.write(step, durable=True)

    # In

    def objections(self, parcels: Iterable[Parcel]) -> dict[str, str]:
        given = list(parcels)

        def look(cells: Cells) -> dict[str, str]:
            found = taken(given, lambda key: _owner(cells, key), lambda task_id: _state(cells, task_id))
            for parcel in given:
                if cells.state(binary(parcel.id)) == IS_LEAVING:
                    found[parcel.id] = "it is on its way from there to another queue"
            return found

        return self._looks.seen(look)

    def admit(self, parcels: Sequence[Parcel]) -> dict[str, Outcome]:
        outcomes: dict[str, Outcome] = {}
        for start in range(0, len(parcels), PAGE):

            def step(txn: Transaction, part: Sequence[Parcel] = parcels[start : start + PAGE]) -> dict[str, Outcome]:
                cells = Cells(txn, self._clock)
                found: dict[str, Outcome] = {}
                for parcel in part:
                    found.setdefault(parcel.id, _admit(cells, parcel))
                cells.finish()
                return found

            outcomes = self._database.write(step, durable=True) | outcomes
        return outcomes

    def missing(self, ids: Iterable[str]) -> set[str]:
        given = list(ids)
        return self._looks.seen(lambda cells: {task_id for task_id in given if not _is_there(cells, task_id)})

    def _packed(self, found: Known) -> Parcel:
        def look(cells: Cells) -> tuple[tuple[Event, ...], bytes]:
            to = cells.get(found.standing.place(found.id)) if found.standing.state == IS_LEAVING else b""
            return history(cells, found), to or b""

        past, to = self._looks.seen(look)
        standing = found.standing
        leaving = standing.state == IS_LEAVING
        return Parcel(
            task=found.task,
            due=standing.beat / MICRO if leaving and found.cell.state is State.SCHEDULED else found.cell.due,
            holder=found.cell.holder if found.cell.state is State.COMPLETED else "",
            history=past,
            to=to.decode(),
            token=standing.packed(),
        )


def _depart(cells: Cells, parcel: Parcel, to: bytes) -> bytes | None:
    """From exactly the cell that was packed; the one that it has then."""
    task = binary(parcel.id)
    data = cells.get(CELL + task)
    if data is None:
        return None
    cell = Standing(data)
    if cell.state == IS_LEAVING:
        return cell.packed() if cells.get(cell.place(task)) == to else None
    if data != parcel.token:
        return None
    record = cells.record(task)
    if record.get("key") is not None and cells.named(record["key"])[0] == task:
        cells.forget_key(record["key"], task)
    forget_waits(cells, task, record.get("after", ()))
    cells.leave(task, cell)
    cell.since, cell.beat, cell.state, cell.when = cell.state, cell.when, IS_LEAVING, cells.wall
    cells.enter(task, cell, to)
    return cell.packed()


def _admit(cells: Cells, parcel: Parcel) -> Outcome:
    task, key = binary(parcel.id), parcel.task.key
    there = cells.state(task)
    if there is not None:
        return Outcome.LEAVING if there == IS_LEAVING else Outcome.THERE
    if key is not None and parcel.state in LIVE:
        owner = claim_key(cells, key, task, parcel.task.unique)
        if owner is not None:
            _let_in(cells, parcel.refused(owner.hex(), round(cells.wall / MICRO, 3)))
            return Outcome.DUPLICATE
    elif key is not None and cells.state(cells.named(key)[0]) is None:
        cells.name(key, task, b"")
    _let_in(cells, parcel)
    return Outcome.ADDED


def _let_in(cells: Cells, parcel: Parcel) -> None:
    task, given, facet = binary(parcel.id), parcel.cell, facet_of(parcel.task)
    code = facet.code
    if "-" in code:
        cells.describe(code.encode(), facet.to_bytes())
    runtime = 0 if parcel.task.max_runtime is None else micro(parcel.task.max_runtime)
    cell = Standing(new_cell(NUMBERS[given.state], code.encode(), 0, runtime))
    cell.epoch, cell.attempts, cell.deaths = given.epoch, given.attempts, given.deaths
    if cell.state == IS_CLAIMED:
        cell.state = IS_READY
    if cell.state == IS_BLOCKED and not must_wait(cells, task, parcel.task.after):
        due = micro(parcel.task.not_before or 0.0)
        cell.state, cell.when = (IS_SCHEDULED, due) if due > cells.wall else (IS_READY, 0)
    elif cell.state == IS_SCHEDULED:
        cell.when = micro(given.due)
    elif given.state in TERMINAL:
        cell.when = micro(parcel.history[-1].at) if parcel.history else cells.wall
        cell.holder = parcel.holder.encode()
    cells.put(RECORD + task, encode(parcel.task.to_record()))
    if parcel.history:
        cells.put(PAST + task, b"".join(encode(event_record(event)) for event in parcel.history[-LONGEST:]))
    cells.enter(task, cell)
    if cell.state == IS_COMPLETED:
        free_waiting(cells, parcel.id)
        if parcel.task.key is not None:
            free_waiting(cells, parcel.task.key)


def _is_there(cells: Cells, task_id: str) -> bool:
    return is_id(task_id) and cells.state(binary(task_id)) is not None


def _owner(cells: Cells, key: str) -> str | None:
    task = cells.resolve(key)
    return None if task is None else task.hex()


def _state(cells: Cells, task_id: str) -> State | None:
    state = cells.state(binary(task_id))
    return None if state is None or state == IS_LEAVING else STATES[state]
