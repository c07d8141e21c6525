"""Complete one task and claim the next, or as many as were completed: one statement and one commit, for a worker that
runs many.

A lost answer is found out as it is for each of them: whether the history names the completion, and what was claimed at
the moment at which it was sent.
"""

from dibs.clock import Clock
from dibs.facets import Filter
from dibs.queues.history import LONGEST
from dibs.queues.postgres.claiming import Claimer, Found, in_order
from dibs.queues.postgres.database import Database
from dibs.queues.postgres.driver import Connection, Row
from dibs.queues.postgres.steps import Ending, Move, Steps


class Chain:
    def __init__(self, database: Database, claimer: Claimer, steps: Steps, clock: Clock) -> None:
        self._database = database
        self._claimer = claimer
        self._steps = steps
        self._clock = clock

    def link(self, move: Move, ttl: float, wanted: Filter, session: str, *, unsure: bool) -> Found | None:
        """What was claimed; None when the task is no longer as seen: then nothing was."""
        sent = 0.0
        asked = unsure

        def work(connection: Connection) -> list[Row] | None:
            nonlocal sent, asked
            before, asked = asked, True
            if before and self._steps.is_done(connection, move):
                return self._claimed(connection, session, sent)
            sent = sent or self._clock.boottime()
            rows = self._claimer.ask(
                connection, "chain", 1, ttl, wanted, session, sent,
                id=move.id, seen_epoch=move.seen.epoch, seen_holder=move.seen.holder,
                event=move.noted, longest=LONGEST,
            )  # fmt: skip
            if rows:
                if rows[0][5]:
                    self._steps.free(connection, [move.id])
                return rows
            if before and self._steps.is_done(connection, move):  # it was still under way
                return self._claimed(connection, session, sent)
            return None

        rows = self._database.safely(work)
        return None if rows is None else self._claimer.found(rows, session, sent, wanted, 1)

    def link_many(
        self, ending: Ending, ids: list[str], limit: int, ttl: float, wanted: Filter, session: str
    ) -> tuple[set[str], Found]:
        """Which were completed, and what was claimed, whatever became of them."""
        sent = 0.0

        def work(connection: Connection) -> tuple[set[str], list[Row]]:
            nonlocal sent
            if sent:
                done = self._steps.settle(connection, ending, ids, [], before=True)
                return done, self._claimed(connection, session, sent)
            sent = self._clock.boottime()
            rows = self._claimer.ask(connection, "chain_many", limit, ttl, wanted, session, sent, **ending.values(ids))
            number = rows.pop()[5]
            if number == len(ids):
                return set(ids), rows
            return self._steps.settle(connection, ending, ids, [], before=number > 0), rows

        done, rows = self._database.safely(work)
        return done, self._claimer.found(in_order(rows), session, sent, wanted, limit)

    def _claimed(self, connection: Connection, session: str, sent: float) -> list[Row]:
        return self._database.ask(connection, "recover", session=session, sent=sent) if sent else []
