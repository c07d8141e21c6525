"""Who this process is as a holder of leases: one session, known to the database before its first claim.

Whether the process behind a session still runs can be seen by others of the same boot; everybody else waits for the
lease to run out.
"""

import os
import random
from collections.abc import Callable
from threading import Lock

from dibs.clock import Clock
from dibs.host import Host
from dibs.queues.postgres.database import Database

REFRESH_SECONDS = 600.0
FORGET_SECONDS = 6 * REFRESH_SECONDS


class Identity:
    def __init__(
        self,
        database: Database,
        host: Host,
        clock: Clock,
        rng: random.Random,
        pid: int | str | None,
        process: Callable[[], int],
    ) -> None:
        self._database = database
        self._host = host
        self._clock = clock
        self._rng = rng
        self._pid = pid
        self._process = process
        self._lock = Lock()
        self._named: tuple[int, str] = (0, "")
        self._known: tuple[str, int | None, float] = ("", None, 0.0)

    @property
    def session(self) -> str:
        """A forked child takes another name."""
        process = self._process()
        if self._named[0] != process:
            tag = self._rng.getrandbits(48) if not self._named[0] else int.from_bytes(os.urandom(6))
            shown = process if self._pid == "self" else self._pid or "cli"
            self._named = (process, f"{self._host.name}-{shown}-{tag:012x}")
        return self._named[1]

    @property
    def process(self) -> int:
        return self._process()

    def introduce(self, guard: int | None, *, owned: bool = True) -> str:
        """The session, after the database knows of it. `owned` false: leases that belong to no process."""
        session = self.session if owned else f"{self.session}-free"
        now = self._clock.boottime()
        known, known_guard, at = self._known
        if known == session and known_guard == guard and now - at < REFRESH_SECONDS:
            return session
        with self._lock:
            pid = self._owner() if owned else None
            self._database.get(
                "hold",
                session=session,
                host=self._host.name,
                machine=self._host.machine,
                boot=self._host.boot,
                space=self._host.space,
                pid=pid,
                start="" if pid is None else self._host.started(pid),
                guard=guard,
                guard_start="" if guard is None else self._host.started(guard),
            )
            self._known = (session, guard, now)
        return session

    def _owner(self) -> int | None:
        pid = self._process() if self._pid == "self" else self._pid
        return None if pid is None else int(pid)
