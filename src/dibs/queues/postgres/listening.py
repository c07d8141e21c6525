"""Waiting for work: the server tells who listens that something became ready, so an idle worker need not ask.

A thread of its own listens, on a connection of its own, from the first wait on. Where words do not come through (a
pooler between, found out by saying one to oneself) everybody asks now and then instead.
"""

import os
import selectors
import threading
from contextlib import suppress

from dibs.errors import DibsError
from dibs.queues.postgres.database import Database
from dibs.queues.postgres.driver import Connection, psycopg
from dibs.queues.postgres.statements import quoted_name

_PROBE_SECONDS = 2.0
_AGAIN_SECONDS = 1.0


class Listening:
    """Safe for threads; a forked process starts anew."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._changed = threading.Condition()
        self._heard = 0
        self._seen = threading.local()
        self._thread: threading.Thread | None = None
        self._wake: tuple[int, int] | None = None
        self._over = False
        self.works: bool | None = None  # None: not known yet

    def wait(self, seconds: float) -> None:
        """Until a word comes that came after this thread's last wait, at most for `seconds`. The first wait only
        begins to listen, and returns at once: what was pushed before must be looked for."""
        if self._pid != os.getpid():
            self._begin()
        with self._changed:
            if self._thread is None and not self._over:
                self._wake = os.pipe()
                self._thread = threading.Thread(target=self._run, name="dibs-listening", daemon=True)
                self._thread.start()
            if not hasattr(self._seen, "heard"):
                self._changed.wait_for(lambda: self.works is not None or self._over, _PROBE_SECONDS * 2)
            else:
                before = self._seen.heard
                self._changed.wait_for(lambda: self._heard != before or self._over, seconds)
            self._seen.heard = self._heard

    def rouse(self) -> None:
        """Whoever waits looks again."""
        with self._changed:
            self._heard += 1
            self._changed.notify_all()

    def stop(self) -> None:
        if self._pid != os.getpid():
            return
        with self._changed:
            self._over = True
            self._changed.notify_all()
            thread, wake = self._thread, self._wake
            self._thread = self._wake = None
        if thread is not None and wake is not None:
            os.write(wake[1], b"s")
            thread.join()
            for end in wake:
                os.close(end)

    def _run(self) -> None:
        while not self._over:
            try:
                self._listen()
            except (DibsError, psycopg.Error, OSError):
                self._tell_all(works=bool(self.works))  # words may have been missed: look
            with self._changed:
                self._changed.wait_for(lambda: self._over, _AGAIN_SECONDS)

    def _listen(self) -> None:
        assert self._wake is not None
        connection = self._database.connections.connect()
        try:
            connection.execute(f"LISTEN {quoted_name(self._database.channel)}".replace("%%", "%").encode())
            probe = os.urandom(8).hex()
            self._database.ask(connection, "tell", word=probe)
            mine = any(word.payload == probe for word in connection.notifies(timeout=_PROBE_SECONDS, stop_after=1))
            self._tell_all(works=mine)
            if mine:
                self._hear(connection, self._wake[0])
            else:
                with self._changed:
                    self._changed.wait_for(lambda: self._over)
        finally:
            with suppress(psycopg.Error):
                connection.close()

    def _hear(self, connection: Connection, wake: int) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(connection.fileno(), selectors.EVENT_READ)
            selector.register(wake, selectors.EVENT_READ)
            while not self._over:
                selector.select()
                if any([word.payload == "" for word in connection.notifies(timeout=0)]):
                    self._tell_all(works=True)

    def _tell_all(self, *, works: bool) -> None:
        with self._changed:
            self.works = works
            self._heard += 1
            self._changed.notify_all()
