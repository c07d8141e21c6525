"""The steps of a holder, and any other from a state that was seen: `states` says what follows, one UPDATE does it.

An answer that was lost is not guessed at: the row is read again. If it stands as the step would have left it, or its
history names the step, it was done; if it stands as before, it is sent again.
"""

from typing import Any, NamedTuple

from dibs.clock import Clock
from dibs.errors import LeaseLost, StorageError
from dibs.queues.history import LONGEST, event_record
from dibs.queues.postgres.database import Database
from dibs.queues.postgres.driver import Connection, Row
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
    """A task to be completed, as it is held. `event`: as it is kept, when there is a result."""

    id: str
    epoch: int
    holder: str
    event: str | None = None


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

    def complete_many(self, endings: list[Ending]) -> set[str]:
        """The ids of those that were completed; one whose answer was lost counts."""
        alike: dict[tuple[str, int, bool], list[Ending]] = {}
        for ending in sorted(endings):  # all that lock many rows do so in the order of ids
            alike.setdefault((ending.holder, ending.epoch, ending.event is None), []).append(ending)
        done: set[str] = set()
        for found in alike.values():
            for start in range(0, len(found), BATCH):
                done |= self._complete_batch(found[start : start + BATCH])
        return done

    def _complete_batch(self, endings: list[Ending]) -> set[str]:
        """Held by one session at one epoch, and all with an event or none."""
        _, epoch, holder, event = endings[0]
        done: set[str] = set()
        asked = False
        values: dict[str, Any] = {
            "id": "{" + ",".join([ending.id for ending in endings]) + "}",
            "event": [] if event is None else [ending.event for ending in endings],
            "epoch": epoch,
            "holder": holder,
        }

        def work(connection: Connection) -> set[str]:
            nonlocal asked
            before, asked = asked, True
            rows = self._database.ask(connection, "complete", longest=LONGEST, **values)
            done.update([task_id for task_id, _ in rows])
            if awaited := [task_id for task_id, waited in rows if waited]:
                self.free(connection, awaited)
            if before:
                for ending in endings:
                    if ending.id not in done:
                        row = self._glance(connection, ending.id)
                        if _has_ended(row, (epoch, "completed", holder)):
                            done.add(ending.id)
            return done

        return self._database.safely(work)

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
        rows = self._database.ask(connection, "glance", id=task_id)
        return rows[0] if rows else None

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
            what = "no longer held here, and the server is away"
        else:
            what = _standing(row, epoch)
        return LeaseLost(f"lease lost: task {task_id} is {what}; work done here at epoch {epoch} is not recorded")


def _has_ended(row: Row | None, ending: tuple[int, str, str]) -> bool:
    """Whether its history names it: epoch, what happened, and who did it."""
    if row is None:
        return False
    cell = Cell(State(row[0]), *row[1:5])
    return any((event.epoch, event.what, event.worker) == ending for event in events(row[7], cell, 0.0))


def _standing(row: Row | None, epoch: int) -> str:
    if row is None:
        return "no longer in the queue"
    state, now_epoch, holder, host = row[0], row[1], row[4], row[8]
    if state != State.CLAIMED:
        return f"now {state} (epoch {now_epoch})"
    if now_epoch != epoch:
        return f"now held by {holder} on {host or 'an unknown host'} (epoch {now_epoch})"
    return "past its time"
