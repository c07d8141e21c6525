"""Holding: the sessions of this process and the leases under them.

A plain session is beaten by this process whenever it claims or renews; before a beat, leases whose
holder did not renew them in time are given back, so that sharing a session never keeps a forgotten
lease alive. A guarded session is beaten by a guard process alone, and everything under it is kept.
"""

import os
import threading
import weakref
from contextlib import suppress
from typing import Any

from dibs import states
from dibs.errors import LeaseLost, StorageError
from dibs.liveness import Holder, Verdict
from dibs.queues.doubts import Doubts
from dibs.queues.files.parts import Parts
from dibs.queues.files.session import Session, read_record
from dibs.queues.held import Lease
from dibs.queues.lost import refused
from dibs.states import Cell

_ALL: "weakref.WeakSet[Holding]" = weakref.WeakSet()


def _forget_parents() -> None:
    """In a forked child: two processes never share a session, so what was held is the parent's alone."""
    for holding in list(_ALL):
        holding.forget()


os.register_at_fork(after_in_child=_forget_parents)


class Holding:
    def __init__(self, parts: Parts, pid: int | str | None) -> None:
        self._parts = parts
        self._pid = pid
        self._sessions: dict[tuple[float, bool], Session] = {}
        self.held: dict[str, Lease] = {}
        self.strays: Doubts[tuple[str, str, Cell]] = Doubts()
        self._doubts: dict[str, tuple[Any, Session]] = {}
        self.lock = threading.RLock()
        _ALL.add(self)

    def forget(self) -> None:
        self._sessions, self.held, self.strays, self._doubts = {}, {}, Doubts(), {}
        self.lock = threading.RLock()

    # Which session a new lease hangs on

    def session(self, ttl: float, guarded: bool, now: float) -> Session:
        """A session with most of its TTL ahead: a new one when the last is over, or this is a forked child."""
        session = self._sessions.get((ttl, guarded))
        if session is not None:
            if now < session.fresh_until and not self.strays:
                return session
            self.return_strays()
            if not guarded:
                self._let_lapse(session, now)
            if session.ready(now):
                return session
            if not guarded:
                self._lapse_all(session)
        session = self._start(ttl, guarded=guarded)
        self._sessions[ttl, guarded] = session
        return session

    def _start(self, ttl: float, *, guarded: bool = False, pid: int | str | None = "default") -> Session:
        if pid == "default":
            pid = self._parts.process() if self._pid == "self" else self._pid
        session = Session(
            self._parts.fs, self._parts.layout, self._parts.clock, self._holder(pid, ttl), guarded=guarded
        )
        session.start()
        return session

    def _holder(self, pid: int | str | None, ttl: float) -> Holder:
        host, clock = self._parts.host, self._parts.clock
        process = None if pid is None else int(pid)
        name = f"{host.name}-{process or 'cli'}-{self._parts.rng.getrandbits(32):08x}"
        return Holder(
            session=name,
            worker=name,
            host=host.name,
            machine=host.machine,
            boot=host.boot,
            space=host.space,
            pid=process,
            start="" if process is None else host.started(process),
            ttl=ttl,
            beat=clock.boottime(),
            since=round(clock.wall(), 3),
        )

    # Leases

    def took(self, task_id: str, epoch: int) -> bool:
        """True when this process holds the task at that epoch already: then the listing that showed it was old."""
        lease = self.held.get(task_id)
        return lease is not None and lease.epoch >= epoch

    def remove(self, lease: Lease) -> None:
        self.held.pop(lease.id, None)

    def stray(self, task_id: str, facet: str, cell: Cell) -> None:
        """The disk failed in the middle of a step: the task may hang on a session of ours with nobody holding it.
        It is given back before that session is used, or beaten, again."""
        self.strays.add((task_id, facet, cell))

    def return_strays(self) -> None:
        self.strays.settle(self._return)

    def _return(self, stray: tuple[str, str, Cell]) -> bool:
        task_id, facet, cell = stray
        self._parts.cells.swap(task_id, facet, cell, states.release(cell))
        return True

    def is_guarded(self, lease: Lease) -> bool:
        session = self._session_of(lease)
        return session is not None and session.guarded

    def renew(self, lease: Lease) -> bool:
        """False when it is lost: too late, or its session was."""
        with self.lock:
            session = self._session_of(lease)
            if session is None:
                return self._move_under(lease, self._successor(lease))
            if session.guarded:
                lease.deadline = self.kept_until(lease)
                if self._parts.clock.boottime() < lease.deadline:
                    return True
                self._lapse(lease)  # we may no longer rely on it, though the guard may still keep its session
                return False
            now = self._parts.clock.boottime()
            if now >= lease.deadline or overrun(lease, now):
                self._lapse(lease)
                return False
            self.return_strays()
            self._let_lapse(session, now)
            if not session.beat():
                self._lapse_all(session)
                return False
            lease.deadline = session.deadline
            return True

    def guard(self, lease: Lease) -> str | None:
        """Hang the lease on the guarded session; its name, or None when the lease is lost."""
        with self.lock:
            session = self._session_of(lease)
            if session is None or not session.guarded:
                session = self.session(lease.ttl, True, self._parts.clock.boottime())
                if not self._move_under(lease, session):
                    return None
            return session.name

    def kept_until(self, lease: Lease) -> float:
        session = self._session_of(lease)
        if session is not None and not session.guarded:
            return lease.deadline
        record = read_record(self._parts.fs, self._parts.layout, lease.worker)
        if record is None or record.ended or record.boot != self._parts.host.boot:
            return lease.deadline
        return max(lease.deadline, record.sure)

    def close(self) -> None:
        """Remove the records of sessions that hold nothing; what still holds is left to expire."""
        with suppress(OSError, StorageError):
            self.return_strays()
        busy = {lease.worker for lease in self.held.values()}
        for session in self._sessions.values():
            if session.name not in busy and session.holder.pid is not None:
                session.close()
        self._sessions = {}

    def _session_of(self, lease: Lease) -> Session | None:
        return next((known for known in self._sessions.values() if known.name == lease.worker), None)

    def _successor(self, lease: Lease) -> Session:
        """A fresh session for a lease of one this process does not write; it belongs to the same process, if to any."""
        record = read_record(self._parts.fs, self._parts.layout, lease.worker)
        return self._start(lease.ttl, pid=record.pid if record else None)

    def _move_under(self, lease: Lease, session: Session) -> bool:
        """Renewal by compare-and-set: the lease's name takes the other session."""
        facet, cell, path = lease.token
        moved: Cell = cell._replace(holder=session.name)
        target = self._parts.layout.path(lease.id, facet, moved)
        token = (facet, moved, target)
        try:
            if not self._parts.cells.move(path, target):
                return False
        except OSError:
            self._doubts[lease.id] = (token, session)  # it may be under either
            raise
        lease.token, lease.worker, lease.deadline = token, session.name, session.deadline
        return True

    def settle(self, lease: Lease) -> bool:
        """The lease is not where it was thought to be: True when a hand-over whose answer was lost has moved it."""
        token, session = self._doubts.pop(lease.id, (None, None))
        if token is None or session is None or lease.state != "held" or not self._parts.fs.exists(token[2]):
            return False
        lease.token, lease.worker, lease.deadline = token, session.name, session.deadline
        return True

    def _let_lapse(self, session: Session, now: float) -> None:
        for lease in list(self.held.values()):
            if lease.worker == session.name and (now >= lease.deadline or overrun(lease, now)):
                self._lapse(lease)

    def _lapse_all(self, session: Session) -> None:
        for lease in list(self.held.values()):
            if lease.worker == session.name:
                self._lapse(lease)

    def _lapse(self, lease: Lease) -> None:
        """Its time is over though we live: give it back, as a failed attempt if it ran too long, else as a death."""
        self.settle(lease)
        facet, cell, _ = lease.token
        task = lease.task
        if overrun(lease, self._parts.clock.boottime()):
            what, error = "timed out", f"held longer than its max_runtime of {task.max_runtime:g} s"
            after = states.fail(cell, task.max_attempts)
        else:
            what, error = Verdict.SILENT, f"worker {lease.worker} did not renew it within {lease.ttl:g} s"
            after = states.expire(cell, task.max_deaths)
        note = self._parts.notes.say_lost(lease.id, cell, what, error)
        if not self._parts.cells.swap(lease.id, facet, cell, after):
            self._parts.notes.take_back(note)
        lease.state = "lost"  # not before: a disk that refuses the step leaves the lease as it is, to be tried again
        self.remove(lease)

    def lost(self, task_id: str, epoch: int, lease: Lease | None = None) -> LeaseLost:
        """The error that says who has the task now."""
        if lease is not None:
            lease.state = "lost"
            self.remove(lease)
        found = self._parts.finder.locate(task_id)
        if found is None:
            return refused(task_id, epoch)
        return refused(task_id, epoch, found.state, found.name.epoch, found.name.extra)


def overrun(lease: Lease, now: float) -> bool:
    limit = lease.task.max_runtime
    return limit is not None and now >= lease.since + limit
