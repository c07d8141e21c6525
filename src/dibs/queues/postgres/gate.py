"""How whole tasks leave a PostgreSQL queue and come in.

What has departed is in the state `leaving`, which no step knows. It keeps its row, so that nobody can push or admit its
id meanwhile, but not its key.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from dibs.errors import BadInput, TaskNotFound
from dibs.queues.gate import Gate
from dibs.queues.keyed import taken
from dibs.queues.parcel import Outcome, Parcel
from dibs.queues.postgres.admitting import Admitting
from dibs.queues.postgres.database import Database
from dibs.queues.postgres.driver import Row
from dibs.queues.postgres.looks import LEAVING, START, Looks, paged
from dibs.queues.postgres.rows import cell_of, events, record_of
from dibs.queues.postgres.upkeep import Upkeep
from dibs.queues.postgres.waits import Waits
from dibs.queues.views import Event
from dibs.states import Cell, State
from dibs.task import task_from_record
from dibs.values import replace

PAGE = 500

Item = TypeVar("Item")


class Token(NamedTuple):
    """What a parcel's row says besides. `place` is where it was packed, see `place.sql`."""

    place: str
    holder: str
    departed: float | None = None


class PostgresGate(Gate):
    def __init__(self, address: str, database: Database, looks: Looks, waits: Waits, upkeep: Upkeep) -> None:
        self.address = address
        self._database = database
        self._looks = looks
        self._upkeep = upkeep
        self._admitting = Admitting(database, waits)
        self._place = ""

    def tend(self) -> None:
        while self._upkeep.promote() or self._upkeep.recover() or self._upkeep.look_beside():
            pass

    # Out

    def export(self, state: State) -> Iterator[Parcel]:
        return self._packed(str(state))

    def ids(self, state: State) -> Iterator[str]:
        return (row[1].hex for row in self._pages("ids", str(state), PAGE * 10))

    def find(self, ref: str) -> Parcel | None:
        try:
            found = self._looks.known(ref)
        except TaskNotFound:
            return None
        return self._parcel(found.id, found.cell, found.record, found.history)

    def depart(self, parcels: Sequence[Parcel], to: str) -> list[Parcel]:
        free = [parcel for parcel in parcels if parcel.state is not State.CLAIMED]  # a lease is for its holder to end
        since: dict[str, float] = {}
        for part in _parts(sorted(free, key=_id)):
            rows = self._database.get("depart", to=to, id=[parcel.id for parcel in part], seen=[_seen(p) for p in part])
            since |= {task_id.hex: departed for task_id, departed in rows}
        return [
            replace(parcel, to=to, token=parcel.token._replace(departed=since[parcel.id]))
            for parcel in free
            if parcel.id in since
        ]

    def departed(self, to: str | None = None) -> Iterator[Parcel]:
        return (parcel for parcel in self._packed(LEAVING) if to in (None, parcel.to))

    def dismiss(self, parcels: Iterable[Parcel]) -> None:
        for part in _parts(sorted(parcels, key=_id)):
            self._database.get(
                "dismiss",
                id=[parcel.id for parcel in part],
                to=[parcel.to for parcel in part],
                departed=[parcel.token.departed for parcel in part],
            )

    # In

    def objections(self, parcels: Iterable[Parcel]) -> dict[str, str]:
        found: dict[str, str] = {}
        for part in _parts(list(parcels)):
            found |= self._objections(part)
        return found

    def _objections(self, parcels: Sequence[Parcel]) -> dict[str, str]:
        keys = {parcel.task.key for parcel in parcels if parcel.task.key is not None}
        owners = self._database.safely(lambda connection: self._admitting.owners(connection, keys))
        states = {owner: State(state) for owner, state in owners.values()}
        found = taken(parcels, lambda key: owners.get(key, (None, ""))[0], states.get)
        standing = self._standing([parcel.id for parcel in parcels])
        for parcel in parcels:
            there, to = standing.get(parcel.id, (None, None))
            if to is not None:
                found[parcel.id] = f"it is on its way from there to {to}; finish that move first"
            elif there and isinstance(parcel.token, Token) and parcel.token.place == self._here():
                found[parcel.id] = "that is the queue it comes from, by another name"
        return found

    def admit(self, parcels: Sequence[Parcel]) -> dict[str, Outcome]:
        outcomes: dict[str, Outcome] = {}
        for part in _parts(parcels):
            outcomes = self._admitting.admit(part) | outcomes
        return outcomes

    def missing(self, ids: Iterable[str]) -> set[str]:
        return {task_id for part in _parts(list(ids)) for task_id in set(part) - self._standing(part).keys()}

    # Look

    def _packed(self, state: str) -> Iterator[Parcel]:
        for _, task_id, *stands, record, past, to, since in self._pages("pack", state, PAGE):
            cell, ended = cell_of(*stands)
            try:
                parcel = self._parcel(task_id.hex, cell, record, events(past, cell, ended))
            except BadInput:
                continue  # damaged: it stays, for a person to look at
            yield parcel if to is None else replace(parcel, to=to, token=parcel.token._replace(departed=since))

    def _parcel(self, task_id: str, cell: Cell, text: str, history: tuple[Event, ...]) -> Parcel:
        """Raises BadInput if the record cannot be read."""
        task = task_from_record(record_of(text), cell)
        if task.id != task_id:
            raise BadInput(f"the record of task {task_id} is another's, {task.id}; look at it in the database")
        holder = cell.holder if cell.state is State.COMPLETED else ""
        return Parcel(task=task, due=cell.due, holder=holder, history=history, token=Token(self._here(), cell.holder))

    def _pages(self, verb: str, state: str, size: int) -> Iterator[Row]:
        parts = {**paged(state), "state": f"'{state}'", "limit": str(size)}
        last, after = START
        while True:
            rows = self._database.get(verb, parts, last=last, after=after)
            yield from rows
            if len(rows) < size:
                return
            last, after = rows[-1][0], rows[-1][1].hex

    def _standing(self, ids: Sequence[str]) -> dict[str, tuple[str, str | None]]:
        return self._database.safely(lambda connection: self._admitting.standing(connection, ids))

    def _here(self) -> str:
        if not self._place:
            ((self._place,),) = self._database.get("place")
        return self._place


def _seen(parcel: Parcel) -> str:
    """Where it stood when it was packed; any step since then has changed it."""
    task = parcel.task
    return f"{task.state} {task.epoch} {task.attempts} {task.deaths} {parcel.token.holder}"


def _id(parcel: Parcel) -> str:
    return parcel.id


def _parts(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    return (items[start : start + PAGE] for start in range(0, len(items), PAGE))
