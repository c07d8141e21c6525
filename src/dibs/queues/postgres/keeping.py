"""Renewing leases: by their holder, or by a guard that beats for it. The database decides whether it was in time.

A renewal is sent only before the lease's own deadline, and counts only if the lease had not run out by the database's
clock either. So whoever reads the row, and finds it held at the same epoch, may believe what it says: its last beat and
a TTL more, on the boottime clock of the holder's boot.
"""

from contextlib import suppress

from dibs.clock import Clock
from dibs.errors import StorageError
from dibs.host import Host
from dibs.liveness import DRIFT, MARGIN_SECONDS, Verdict
from dibs.queues.held import Lease
from dibs.queues.postgres.database import Database
from dibs.queues.postgres.driver import Row
from dibs.queues.postgres.identity import Identity
from dibs.queues.postgres.lease import Held
from dibs.queues.postgres.steps import Steps
from dibs.queues.postgres.upkeep import Upkeep
from dibs.states import State


class Keeping:
    def __init__(
        self,
        database: Database,
        steps: Steps,
        upkeep: Upkeep,
        identity: Identity,
        clock: Clock,
        host: Host,
    ) -> None:
        self._database = database
        self._steps = steps
        self._upkeep = upkeep
        self._identity = identity
        self._clock = clock
        self._host = host
        self._guarded: set[str] = set()

    def renew(self, lease: Lease) -> bool:
        """One more TTL from now; False when it is lost. What is past its time is given back."""
        held: Held = lease.token
        if held.boot != self._host.boot:
            return self._adopt(lease, held)
        if held.kept:
            lease.deadline = max(lease.deadline, self.kept_until(lease))
            kept = self._clock.boottime() < lease.deadline
        else:
            until = self._renewed(lease.id, lease.epoch, held.session, lease.deadline)
            kept = until is not None
            lease.deadline = lease.deadline if until is None else until
        if not kept:
            with suppress(StorageError):  # lost all the same: it runs out by itself
                self._upkeep.expire_one(lease.id, lease.epoch, held.session, Verdict.SILENT)
        return kept

    def beat(self, handle: str) -> float | None:
        epoch, session, task_id = handle.split(":", 2)
        if session not in self._guarded:
            pid = self._identity.process
            start = self._host.started(pid)
            self._database.safely(
                lambda connection: self._database.ask(
                    connection, "guard", session=session, guard=pid, guard_start=start
                ),
                patience=0.0,
            )
            self._guarded.add(session)
        return self._renewed(task_id, int(epoch), session, None)

    def _renewed(self, task_id: str, epoch: int, session: str, deadline: float | None) -> float | None:
        """Until when it holds, by boottime; None when it is lost. Nothing is sent past `deadline`."""
        sent = self._clock.boottime()
        if deadline is not None and sent >= deadline:
            return None
        rows = self._database.safely(
            lambda connection: self._database.ask(
                connection, "renew", id=task_id, epoch=epoch, session=session, sent=sent, drift=DRIFT,
                margin=MARGIN_SECONDS,
            ),
            patience=0.0,
        )  # fmt: skip
        if rows:
            ttl, left = rows[0]
            return float(sent + ttl if left is None else min(sent + ttl, sent + left))
        row = self._steps.glance(task_id, patience=0.0)  # lost, or in the middle of another step
        until = _until(row, epoch, session)
        return until if until is not None and until > sent else None

    def _adopt(self, lease: Lease, held: Held) -> bool:
        """From another boot than the holder's: its deadline means nothing here, so the database alone decides."""
        session = self._identity.introduce(None, owned=False)
        sent = self._clock.boottime()
        rows = self._database.get(
            "adopt", id=lease.id, epoch=lease.epoch, session=session, seen=held.session, sent=sent, drift=DRIFT,
            margin=MARGIN_SECONDS,
        )  # fmt: skip
        if rows:
            held.session, held.boot = session, self._host.boot
            lease.deadline = sent + lease.ttl
        return bool(rows)

    def kept_until(self, lease: Lease) -> float:
        held: Held = lease.token
        if held.boot != self._host.boot:
            return lease.deadline
        until = _until(self._steps.glance(lease.id), lease.epoch, held.session)
        return lease.deadline if until is None else min(until, held.until or until)


def _until(row: Row | None, epoch: int, session: str) -> float | None:
    """When a lease runs out by its own clock, as its row says; None when it is no longer that lease."""
    if row is None or row[0] != State.CLAIMED or (row[1], row[4]) != (epoch, session):
        return None
    return float(row[5] + row[6])
