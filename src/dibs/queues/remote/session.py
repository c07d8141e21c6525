"""A worker's session with the daemon: a connection that is held open while the process lives.

Claims name it. When it drops without a word and is not made again within the daemon's grace, what was claimed under it
goes back to the queue. A daemon that restarts finds the session again under its old name.
"""

import http.client
import os
import socket
import threading
from contextlib import suppress
from urllib.parse import quote

from dibs.clock import Clock
from dibs.errors import DibsError
from dibs.queues.remote.connections import Connections
from dibs.queues.remote.line import hang_up

SILENCE_SECONDS = 30.0  # the daemon says something every few seconds
_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 1.0


class Session:
    """Begun by the first claim; a forked child has its own."""

    def __init__(self, connections: Connections, worker: str, clock: Clock) -> None:
        self._connections = connections
        self._worker = worker
        self._clock = clock
        self._lock = threading.Lock()
        self._pid = 0
        self._name = ""
        self._over = threading.Event()
        self._held: socket.socket | None = None

    def name(self) -> str:
        if self._pid != os.getpid():
            with self._lock:
                if self._pid != os.getpid():
                    self._begin()
        return self._name

    def leave(self) -> None:
        """In good order: what is still held is left to expire."""
        with self._lock:
            if self._pid != os.getpid():
                return
            self._pid = 0
            self._over.set()
            with suppress(DibsError):
                self._connections.post(f"/sessions/{quote(self._name, safe='')}/leave")
            held = self._held
        if held is not None:
            hang_up(held)

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._over = threading.Event()
        self._name = f"{self._worker}-{self._pid}-{os.urandom(4).hex()}"
        threading.Thread(target=self._hold, args=(self._name, self._over), daemon=True, name="dibs-session").start()

    def _hold(self, name: str, over: threading.Event) -> None:
        pause = _FIRST_PAUSE
        while not over.is_set():
            try:
                own, answer = self._connections.stream(f"/session?worker={quote(name, safe='')}", SILENCE_SECONDS)
            except (OSError, http.client.HTTPException):
                over.wait(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
                continue
            self._held = own
            with suppress(OSError, http.client.HTTPException):
                while answer.status < 400 and not over.is_set() and answer.readline():
                    pause = _FIRST_PAUSE
            answer.close()
            own.close()
            if not over.is_set():
                over.wait(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
