"""What a claimer does when a look says that something is overdue, so that nobody else is needed: give back what dead
workers held, make due tasks ready, look again at what is blocked, remove what is past its retention.
"""

import random

from dibs import states
from dibs.clock import Clock
from dibs.host import Host
from dibs.liveness import Holder, Verdict, Watch
from dibs.queues.postgres.database import Database
from dibs.queues.postgres.driver import Row
from dibs.queues.postgres.identity import FORGET_SECONDS, Identity
from dibs.queues.postgres.rows import task_of
from dibs.queues.postgres.steps import Move, Steps
from dibs.queues.postgres.waits import Waits
from dibs.queues.views import Event
from dibs.states import Cell, State

TIDY_SECONDS = 300.0
BLOCKED_SECONDS = 60.0
BESIDE_SECONDS = 30.0
FEW = 500
_HELD = "t.state = 'claimed'"


class Upkeep:
    def __init__(
        self,
        database: Database,
        steps: Steps,
        waits: Waits,
        identity: Identity,
        clock: Clock,
        host: Host,
        rng: random.Random,
        retention: float,
    ) -> None:
        self._database = database
        self._steps = steps
        self._waits = waits
        self._identity = identity
        self._clock = clock
        self._host = host
        self._rng = rng
        self._retention = retention
        self._watch = Watch(host, clock)
        self._next_tidy = clock.boottime() + TIDY_SECONDS
        self._next_blocked = self._next_beside = 0.0
        self._beside: list[Row] = []  # processes of this boot that held something when that was last asked

    def promote(self) -> bool:
        return bool(self._database.get("promote"))

    def recover(self) -> bool:
        """Give back what has run out."""
        rows = self._database.get("overdue", {"which": f"{_HELD} AND t.at <= {{schema}}.store_time()"})
        if not rows:
            return False
        boots = self._boots(sorted({row[8] for row in rows if row[8] is not None}))
        return self._give_back(rows, {row[0]: self._verdict(row, boots) for row in rows}, late=True)

    def look_beside(self) -> bool:
        """Give back what processes of this boot held that are seen to be gone."""
        now = self._clock.boottime()
        if now >= self._next_beside:
            self._next_beside = now + BESIDE_SECONDS
            self._beside = self._database.get("beside", boot=self._host.boot, session=self._identity.session)
        gone = [row[0] for row in self._beside if self._watch.judge(_holder(row, now), now) is Verdict.DEAD]
        if not gone:
            return False
        self._next_beside = 0.0
        rows = self._database.get(
            "overdue", {"which": f"{_HELD} AND t.holder = ANY(%(sessions)s::text[])"}, sessions=gone
        )
        return self._give_back(rows, {row[0]: Verdict.DEAD for row in rows}, late=False)

    def look_at_blocked(self) -> bool:
        now = self._clock.boottime()
        if now < self._next_blocked:
            return False
        self._next_blocked = now + BLOCKED_SECONDS
        return self._database.safely(self._waits.look_again)

    def tidy(self) -> None:
        now = self._clock.boottime()
        if now < self._next_tidy:
            return
        self._next_tidy = now + TIDY_SECONDS
        self._database.get("forget", age=FORGET_SECONDS)
        if self._retention > 0:
            for state in (State.COMPLETED, State.CANCELLED):
                parts = {"limit": str(FEW), "state": f"'{state}'"}
                self._database.get("purge", parts, age=self._retention, all=False)

    def expire(self, row: Row, verdict: Verdict) -> Move:
        """What becomes of a held task (`overdue.sql`) whose holder is gone, or held it for longer than it may."""
        found, epoch, attempts, deaths, session, overrun, record, host = row[:8]
        cell = Cell(State.CLAIMED, epoch, attempts, deaths, session)
        task = task_of(record, cell, found.hex)
        at = round(self._clock.wall(), 3)
        if overrun and verdict is Verdict.SILENT:
            wait = states.backoff(task.backoff, task.max_backoff, attempts + 1, self._rng)
            after = states.fail(cell, task.max_attempts, wait)
            error = f"held longer than its max_runtime of {task.max_runtime or 0:g} s"
            return Move(found.hex, cell, after, _event(cell, "timed out", at, error), wait if after.due else 0.0)
        after = states.expire(cell, task.max_deaths, counts=verdict is not Verdict.REBOOTED)
        error = f"worker {session} on {host or 'an unknown host'} {verdict} while holding it"
        return Move(found.hex, cell, after, _event(cell, str(verdict), at, error))

    def expire_one(self, task_id: str, epoch: int, session: str, verdict: Verdict) -> bool:
        """Whatever its time: its holder says so, or its guard."""
        which = "t.id = %(id)s AND coalesce(t.state) = 'claimed' AND t.epoch = %(epoch)s AND t.holder = %(session)s"
        rows = self._database.get("overdue", {"which": which}, id=task_id, epoch=epoch, session=session)
        return self._give_back(rows, {row[0]: verdict for row in rows}, late=False)

    def _give_back(self, rows: list[Row], verdicts: dict[object, Verdict], *, late: bool) -> bool:
        moves = [self.expire(row, verdicts[row[0]]) for row in rows]
        return bool(moves) and self._steps.give_back(moves, late=late)

    def _boots(self, machines: list[str]) -> list[tuple[str, str, float]]:
        rows = self._database.get("boots", machine=machines) if machines else []
        return [(machine, boot, since) for machine, boot, since in rows]

    def _verdict(self, row: Row, boots: list[tuple[str, str, float]]) -> Verdict:
        machine, boot, since = row[8:11]
        if machine is None:
            return Verdict.SILENT
        later = [known for at, known, seen in boots if at == machine and seen > since]
        if machine == self._host.machine:
            later.append(self._host.boot)
        rebooted = any(known.partition("/")[0] != boot.partition("/")[0] for known in later)
        return Verdict.REBOOTED if rebooted else Verdict.SILENT


def _event(cell: Cell, what: str, at: float, error: str) -> Event:
    return Event(epoch=cell.epoch, what=what, worker=cell.holder, at=at, error=error)


def _holder(row: Row, now: float) -> Holder:
    session, host, machine, boot, space, pid, start, guard, guard_start, since = row
    return Holder(
        session=session, worker=session, host=host, machine=machine, boot=boot, space=space, pid=pid, start=start,
        guard=guard, guard_start=guard_start, ttl=1.0, beat=now, since=since,
    )  # fmt: skip
