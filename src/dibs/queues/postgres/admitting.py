"""Letting whole tasks in: a batch is one transaction.

The table itself sees to it that an id is there but once, and its index that a key has one live task. That a key is free
among completed ones too, where that is asked for, is looked up before and again after.

If the answer to the commit was lost, the server is asked what became of that transaction.
"""

from collections.abc import Collection, Iterable, Sequence

from dibs.queues.history import LONGEST, event_record
from dibs.queues.parcel import Outcome, Parcel
from dibs.queues.postgres import texts
from dibs.queues.postgres.database import Database
from dibs.queues.postgres.driver import Connection
from dibs.queues.postgres.looks import LEAVING
from dibs.queues.postgres.pushing import columns
from dibs.queues.postgres.refusals import Clashed
from dibs.queues.postgres.waits import Waits
from dibs.states import LIVE, State
from dibs.task import encode


class Admitting:
    def __init__(self, database: Database, waits: Waits) -> None:
        self._database = database
        self._waits = waits

    def admit(self, parcels: Sequence[Parcel]) -> dict[str, Outcome]:
        tried: list[tuple[int, dict[str, Outcome]]] = []
        at = round(self._database.about_now(), 3)

        def work(connection: Connection) -> dict[str, Outcome]:
            for number, outcomes in tried:
                if self._is_committed(connection, number):
                    return outcomes
            with self._database.transaction(connection):
                tried.append(self._let_in(connection, parcels, at))
            return tried[-1][1]

        return self._database.safely(work)

    def _is_committed(self, connection: Connection, number: int) -> bool:
        ((status,),) = self._database.ask(connection, "settled", number=number)
        if status == "in progress":
            where = self._database.address.shown
            raise Clashed(f"{where} still works on what was sent over a connection that broke; try again in a moment")
        return bool(status == "committed")

    def _let_in(self, connection: Connection, parcels: Sequence[Parcel], at: float) -> tuple[int, dict[str, Outcome]]:
        """The number of the transaction, and by id what becomes of each when it is committed."""
        outcomes: dict[str, Outcome] = {}
        number, taken = 0, dict[str, str]()
        left = list({parcel.id: parcel for parcel in parcels}.values())
        while left:
            taken |= self.taken(connection, [parcel for parcel in left if parcel.id not in taken])
            coming = [parcel.refused(taken[parcel.id], at) if parcel.id in taken else parcel for parcel in left]
            number, added = self._add(connection, coming)
            late = self._withdraw(connection, [parcel for parcel in coming if parcel.id in added])
            taken |= late
            added -= late.keys()
            self._join(connection, [parcel for parcel in coming if parcel.id in added])
            outcomes |= {task_id: Outcome.DUPLICATE if task_id in taken else Outcome.ADDED for task_id in added}
            others = [parcel.id for parcel in left if parcel.id not in added]
            for task_id, (state, _) in self.standing(connection, others).items():
                outcomes[task_id] = Outcome.LEAVING if state == LEAVING else Outcome.THERE
            left = [parcel for parcel in left if parcel.id not in outcomes]  # their keys were taken just now
        return number, outcomes

    def _add(self, connection: Connection, parcels: list[Parcel]) -> tuple[int, set[str]]:
        records = {parcel.id: encode(parcel.task.to_record()).decode().rstrip("\n") for parcel in parcels}
        cells = [parcel.cell for parcel in parcels]
        rows = self._database.ask(
            connection,
            "admit",
            None,
            **columns([parcel.task for parcel in parcels], records),
            state=[str(State.READY if cell.state is State.CLAIMED else cell.state) for cell in cells],
            epoch=[cell.epoch for cell in cells],
            attempts=[cell.attempts for cell in cells],
            deaths=[cell.deaths for cell in cells],
            holder=[cell.holder for cell in cells],
            due=[float(cell.due) if cell.state is State.SCHEDULED else 0.0 for cell in cells],
            history=[_history(parcel) for parcel in parcels],
            notify=any(cell.state in LIVE for cell in cells),
        )
        return rows[0][0], {row[1].hex for row in rows if row[1] is not None}

    def _withdraw(self, connection: Connection, added: list[Parcel]) -> dict[str, str]:
        """What had the key a moment ago may have completed since it was looked up."""
        asked = [parcel for parcel in added if parcel.task.unique == "completed"]
        late = self.taken(connection, asked, but=[parcel.id for parcel in asked])
        if late:
            self._database.ask(connection, "withdraw", id=list(late))
        return late

    def _join(self, connection: Connection, added: list[Parcel]) -> None:
        """With those that they wait for, and those that wait for them."""
        self._waits.begin(connection, [each.task for each in added if each.state is State.BLOCKED and each.task.after])
        completed = [parcel.id for parcel in added if parcel.state is State.COMPLETED]
        if completed:
            self._waits.free(connection, completed)

    def taken(self, connection: Connection, parcels: Iterable[Parcel], but: Collection[str] = ()) -> dict[str, str]:
        """Of those whose key another task has: by id, which."""
        keyed = {parcel.id: parcel.task for parcel in parcels if parcel.task.key is not None and parcel.state in LIVE}
        owners = self.owners(connection, {task.key or "" for task in keyed.values()}, but)
        found = {}
        for task_id, task in keyed.items():
            owner, state = owners.get(task.key or "", (task_id, ""))
            if owner != task_id and (state in LIVE or (state == State.COMPLETED and task.unique == "completed")):
                found[task_id] = owner
        return found

    def owners(
        self, connection: Connection, keys: Collection[str], but: Collection[str] = ()
    ) -> dict[str, tuple[str, str]]:
        """Who has each key, or had it last: id and state."""
        if not keys:
            return {}
        rows = self._database.ask(connection, "own", key=sorted(map(texts.put, keys)), but=list(but))
        return {texts.taken_out(row[0]): (row[1].hex, row[2]) for row in rows}

    def standing(self, connection: Connection, ids: Collection[str]) -> dict[str, tuple[str, str | None]]:
        """Of those that are there: state, and where to if it is on its way."""
        rows = self._database.ask(connection, "stands", id=list(ids)) if ids else []
        return {row[0].hex: (row[1], row[2]) for row in rows}


def _history(parcel: Parcel) -> str:
    events = parcel.history[-LONGEST:]
    return texts.literal(encode(event_record(event)).decode().rstrip("\n") for event in events)
