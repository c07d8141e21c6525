"""Which claims hang on which worker session. Kept in memory, and in a journal if there is one."""

import threading
from collections.abc import Iterable

from dibs.queues.behalf import Name, named
from dibs.queues.views import Claim
from dibs.serve.journal import Journal


class Ties:
    """Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_session: dict[str, set[Name]] = {}
        self._session_of: dict[Name, str] = {}
        self._journal: Journal | None = None
        self.via = "a daemon"

    def keep(self, journal: Journal) -> None:
        """Begin with what it says, and note there what follows."""
        self.via = journal.now.via
        for name, session in journal.before.sessions.items():
            self._hang(name, session)
        self._journal = journal

    def tie(self, names: Iterable[Name], session: str) -> None:
        with self._lock:
            fresh = [name for name in names if self._session_of.get(name) != session]
            for name in fresh:
                self._hang(name, session)
            if fresh and self._journal is not None:
                self._journal.tied(fresh, session)

    def untie(self, names: Iterable[Name]) -> None:
        with self._lock:
            known = [name for name in names if name in self._session_of]
            for name in known:
                self._hang(name, None)
            if known and self._journal is not None:
                self._journal.untied(known)

    def leave(self, session: str) -> None:
        """What it holds hangs on no session any more."""
        self.untie(self.of(session))

    def of(self, session: str) -> list[Name]:
        with self._lock:
            return list(self._by_session.get(session, ()))

    def session(self, name: Name) -> str | None:
        return self._session_of.get(name)

    def named(self, claims: Iterable[Claim]) -> list[Claim]:
        """With the workers as holders, where they are known."""
        found = [(claim, self._session_of.get((claim.id, claim.epoch))) for claim in claims]
        return [claim if session is None else named(claim, session, self.via) for claim, session in found]

    def _hang(self, name: Name, session: str | None) -> None:
        before = self._session_of.pop(name, None)
        if before is not None:
            theirs = self._by_session[before]
            theirs.discard(name)
            if not theirs:
                del self._by_session[before]
        if session is not None:
            self._session_of[name] = session
            self._by_session.setdefault(session, set()).add(name)
