"""A worker's session with the daemon: a connection that is held open while the process lives.

Claims name it. When it drops without a word and is not made again within the daemon's grace, what was claimed under it
goes back to the queue. A daemon that restarts finds the session again under its old name.
"""

import http.client
import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import quote

from dibs.clock import Clock
from dibs.queues.remote.connections import SOON_SECONDS, Connections
from dibs.queues.remote.line import hang_up

SILENCE_SECONDS = 30.0  # the daemon says something every few seconds
AGAIN_SECONDS = 0.5  # who looked only after the first renewal sees the second
_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 1.0


class _Life:
    """Of a session in one process."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.over = threading.Event()
        self.known = threading.Event()  # the daemon has heard the name, or cannot just now
        self.turn = threading.Lock()
        self.held: socket.socket | None = None

    def goes_on(self) -> bool:
        with self.turn:
            if not self.over.is_set():
                self.known.clear()
            return not self.over.is_set()

    def end(self) -> None:
        """After this the daemon does not hear the name for the first time."""
        with self.turn:
            self.over.set()
        self.known.wait(SOON_SECONDS)


class Session:
    """Begun by the first claim; a forked child has its own."""

    def __init__(
        self, connections: Connections, worker: str, clock: Clock, joined: Callable[[], None] = lambda: None
    ) -> None:
        """`joined` is called, twice, when the session was made again."""
        self._connections = connections
        self._joined = joined
        self._worker = worker
        self._clock = clock
        self._lock = threading.Lock()
        self._pid = 0
        self._life = _Life("")

    def name(self) -> str:
        if self._pid != os.getpid():
            with self._lock:
                if self._pid != os.getpid():
                    self._begin()
        return self._life.name

    def leave(self) -> None:
        """In good order: what is still held is left to expire."""
        if self._pid != os.getpid():
            return
        with self._lock:
            if self._pid != os.getpid():
                return
            self._pid, life = 0, self._life
        life.end()
        self._connections.soon(f"/sessions/{quote(life.name, safe='')}/leave")
        if life.held is not None:
            hang_up(life.held)

    def _begin(self) -> None:
        pid = os.getpid()
        self._life = _Life(f"{self._worker}-{pid}-{os.urandom(4).hex()}")
        self._pid = pid
        threading.Thread(target=self._hold, args=(self._life,), daemon=True, name="dibs-session").start()

    def _hold(self, life: _Life) -> None:
        pause = _FIRST_PAUSE
        again = False
        while life.goes_on():
            with suppress(OSError, http.client.HTTPException):
                life.held, answer = self._connections.stream(
                    f"/session?worker={quote(life.name, safe='')}", SILENCE_SECONDS
                )
                with life.held, answer:
                    while answer.status < 400 and answer.readline():
                        life.known.set()
                        pause = _FIRST_PAUSE
                        if life.over.is_set():
                            break
                        if again:
                            self._joined()
                            if not life.over.wait(AGAIN_SECONDS):
                                self._joined()
                        again = False
            life.known.set()
            again = True
            life.over.wait(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
        life.known.set()
