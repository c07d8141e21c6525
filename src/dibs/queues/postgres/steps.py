"""The steps of a holder, and any other from a state that was seen: `states` says what follows, one UPDATE does it.

An answer that was lost is not guessed at: the row is read again. If it stands as the step would have left it, or its
history names the step, it was done; if it stands as before, it is sent again.
"""

from typing import Any, NamedTuple

from dibs.clock import Clock
from dibs.errors import LeaseLost, StorageError
from dibs.queues.history import LONGEST, event_record
from dibs.queues.lost import not_recorded, refused
from dibs.queues.postgres.database import Database
from dibs.queues.postgres.driver import Connection, Row
from dibs.queues.postgres.ids import packed
from dibs.queues.postgres.refusals import Away, Clashed, NotConnected
from dibs.queues.postgres.rows import events
from dibs.queues.postgres.waits import Waits
from dibs.queues.views import Event
from dibs.states import Cell, State
from dibs.task import encode

BATCH = 500
_WAITING = (State.READY, State.SCHEDULED)


class Move(NamedTuple):
    """One step of one task. `wait`: seconds until it is ready, when it is to be scheduled."""

    id: str
    seen: Cell
    after: Cell
    event: Event | None = None
    wait: float = 0.0
    keyed: bool = False  # it takes its key again

    @property
    def noted(self) -> str | None:
        """The event as it is kept: JSON. None when the row says it all."""
        event = self.event
        if event is None or (event.what == State.COMPLETED and event.result is None):
            return None
        return encode(event_record(event)).decode().rstrip("\n")


class Ending(NamedTuple):
    """What tasks to be completed have in common: how they are held, and whether there are results to keep."""

    holder: str
    epoch: int
    with_events: bool = False

    def values(self, ids: list[str]) -> dict[str, Any]:
        """For a statement that completes tasks so held."""
        return {"id": packed(ids), "epoch": self.epoch, "holder": self.holder}


class Steps:
    def __init__(self, database: Database, waits: Waits, clock: Clock) -> None:
        self._database = database
        self._waits = waits
        self._clock = clock

    def take(self, move: Move, *, unsure: bool = False) -> bool:
        """Do it; False when the task is no longer as seen. `unsure`: it may have been done already, by this caller.
        Raises Away when the server stays away so long that nobody can tell."""
        asked = unsure

        def work(connection: Connection) -> bool:
            nonlocal asked
            before, asked = asked, True
            if before and self.is_done(connection, move):
                return True
            if self._step(connection, move, notify=True):
                return True
            return before and self.is_done(connection, move)  # it was still under way

        return self._database.safely(work)

    def within(self, connection: Connection, move: Move) -> bool:
        """As a part of the caller's transaction."""
        return self._step(connection, move, notify=True)

    def _step(self, connection: Connection, move: Move, notify: bool) -> bool:
        seen, after = move.seen, move.after
        if after.state is State.COMPLETED:
            return self._complete(connection, move)
        rows = self._database.ask(
            connection,
            "step",
            id=move.id,
            state=str(after.state),
            epoch=after.epoch,
            attempts=after.attempts,
            deaths=after.deaths,
            holder=after.holder,
            wait=float(move.wait),
            keyed=move.keyed,
            event=move.noted,
            longest=LONGEST,
            seen_state=str(seen.state),
            seen_epoch=seen.epoch,
            seen_holder=seen.holder,
            notify=notify and after.state in _WAITING,
        )
        return bool(rows)

    def _complete(self, connection: Connection, move: Move) -> bool:
        seen = move.seen
        rows = self._database.ask(
            connection,
            "complete_one",
            id=move.id,
            seen_epoch=seen.epoch,
            seen_holder=seen.holder,
            event=move.noted,
            longest=LONGEST,
        )
        if rows and rows[0][0]:
            self.free(connection, [move.id])
        return bool(rows)

    def complete_many(self, endings: dict[Ending, dict[str, str]], *, unsure: bool = False) -> set[str]:
        """Tasks by id, with the event as it is kept, or "". The ids of those that were completed; one whose answer was
        lost counts. `unsure`: also one that this caller completed before."""
        done: set[str] = set()
        for ending, told in endings.items():
            ids = sorted(told)  # all that lock many rows do so in the order of ids
            for start in range(0, len(ids), BATCH):
                done |= self._complete_batch(ending, ids[start : start + BATCH], told, unsure)
        return done

    def _complete_batch(self, ending: Ending, ids: list[str], told: dict[str, str], unsure: bool) -> set[str]:
        asked = unsure

        def work(connection: Connection) -> set[str]:
            nonlocal asked
            before, asked = asked, True
            if ending.with_events:
                return self.settle(connection, ending, ids, [told[task_id] for task_id in ids], before)
            plain = self._database.change(connection, "complete_plain", **ending.values(ids))
            return set(ids) if plain == len(ids) else self.settle(connection, ending, ids, [], before or plain > 0)

        return self._database.safely(work)

    def settle(
        self, connection: Connection, ending: Ending, ids: list[str], events: list[str], before: bool
    ) -> set[str]:
        """Complete those that are still held, whoever waits for them; `before`: some may have been completed before, by
        this caller. The ids of those that are."""
        ((count, awaited, few),) = self._database.ask(
            connection, "complete", longest=LONGEST, event=events, **ending.values(ids)
        )
        done = set(ids if count == len(ids) else [found.hex for found in few or ()])
        if awaited:
            self.free(connection, [found.hex for found in awaited])
        if before and len(done) < len(ids):
            left = [task_id for task_id in ids if task_id not in done]
            ended = (ending.epoch, "completed", ending.holder)
            done |= {row[10].hex for row in self._glances(connection, left) if _has_ended(row, ended)}
        return done

    def give_back(self, moves: list[Move], *, late: bool) -> bool:
        """Held tasks whose holders are gone; `late`: only those whose lease has run out, and that are not in the middle
        of another step. True when any was given back."""
        return bool(
            self._database.get(
                "give_back",
                {"locked": "SKIP LOCKED" if late else ""},
                id=[move.id for move in moves],
                seen_epoch=[move.seen.epoch for move in moves],
                seen_holder=[move.seen.holder for move in moves],
                state=[str(move.after.state) for move in moves],
                attempts=[move.after.attempts for move in moves],
                deaths=[move.after.deaths for move in moves],
                wait=[float(move.wait) for move in moves],
                event=[move.noted for move in moves],
                late=late,
                longest=LONGEST,
                notify=True,
            )
        )

    def free(self, connection: Connection, completed: list[str]) -> None:
        """They are completed, whatever becomes of this: what waits for them is found by the next upkeep."""
        if not connection.autocommit:
            self._waits.free(connection, completed)
            return
        try:
            with self._database.transaction(connection):
                self._waits.free(connection, completed)
        except (Away, Clashed, NotConnected):
            return

    def _glance(self, connection: Connection, task_id: str) -> Row | None:
        rows = self._glances(connection, [task_id])
        return rows[0] if rows else None

    def _glances(self, connection: Connection, ids: list[str]) -> list[Row]:
        return self._database.ask(connection, "glance", id=packed(ids))

    def glance(self, task_id: str, patience: float | None = None) -> Row | None:
        return self._database.safely(lambda connection: self._glance(connection, task_id), patience)

    def is_done(self, connection: Connection, move: Move) -> bool:
        """Whether this very step has been taken."""
        row = self._glance(connection, move.id)
        if move.event is not None:
            return _has_ended(row, (move.event.epoch, move.event.what, move.event.worker))
        if row is None:
            return False
        after = move.after
        return tuple(row[:5]) == (after.state, after.epoch, after.attempts, after.deaths, after.holder)

    def lost(self, task_id: str, epoch: int) -> LeaseLost:
        """The error that says who has the task now."""
        try:
            row = self.glance(task_id)
        except StorageError:
            return not_recorded(task_id, epoch, "no longer held here, and the server is away")
        if row is None:
            return refused(task_id, epoch)
        return refused(task_id, epoch, row[0], row[1], f"{row[4]} on {row[8] or 'an unknown host'}")


def _has_ended(row: Row | None, ending: tuple[int, str, str]) -> bool:
    """Whether its history names it: epoch, what happened, and who did it."""
    if row is None:
        return False
    cell = Cell(State(row[0]), *row[1:5])
    return any((event.epoch, event.what, event.worker) == ending for event in events(row[7], cell, 0.0))
