"""Guarding: beating sessions for other processes, and ending them once their holders are dead."""

from dibs.liveness import Holder
from dibs.queues.files.parts import Parts
from dibs.queues.files.session import Session, read_record
from dibs.values import replace


class Guards:
    """The sessions that this process beats for others, and ends when their holders are dead."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._sessions: dict[str, Session] = {}

    def beat(self, handle: str) -> float | None:
        session = self._sessions.get(handle)
        if session is None:
            record = read_record(self._parts.fs, self._parts.layout, handle)
            if record is None or record.ended or record.boot != self._parts.host.boot:
                return None
            pid = self._parts.process()
            record = replace(record, guard=pid, guard_start=self._parts.host.started(pid))
            session = Session(self._parts.fs, self._parts.layout, self._parts.clock, record)
            self._sessions[handle] = session
        return session.deadline if session.beat() else None

    def end(self, handle: str) -> Holder | None:
        """Say that the holder is dead; returns its record."""
        session = self._sessions.pop(handle, None)
        holder = session.holder if session else read_record(self._parts.fs, self._parts.layout, handle)
        if holder is None:
            return None
        session = session or Session(self._parts.fs, self._parts.layout, self._parts.clock, holder)
        session.end()
        return session.holder
