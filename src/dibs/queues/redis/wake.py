"""Waiting for work: one connection a process listens for word that something became ready, so that nobody polls.

Word may be missed while the connection is away: its return counts as word, too. A claimer notes `heard` before it looks
and waits for more than that, so nothing that happens between look and wait is missed.
"""

import os
import threading

from dibs.queues.redis.server import Connection, Server

_LONGEST_PAUSE = 5.0


class Wake:
    """Safe for threads; a forked process listens anew."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._changed = threading.Condition()
        self._pid = 0
        self._connection: Connection | None = None
        self._over = threading.Event()
        self.heard = 0
        self.deaf = False  # the user has no permission to listen

    def listen(self) -> bool:
        """False when it only begins now: what happened before may have been missed."""
        if self._pid == os.getpid():
            return True
        with self._changed:
            if self._pid != os.getpid():
                self._pid = os.getpid()
                self._over = threading.Event()
                thread = threading.Thread(target=self._run, args=(self._over,), name="dibs-redis-wake", daemon=True)
                thread.start()
        return False

    def wait(self, seconds: float, heard: int) -> bool:
        """True as soon as there was more word than `heard`."""
        with self._changed:
            return self._changed.wait_for(lambda: self.heard != heard, seconds)

    def close(self) -> None:
        if self._pid == os.getpid():
            self._pid = 0
            self._over.set()
            connection = self._connection
            if connection is not None:
                connection.disconnect()

    def _run(self, over: threading.Event) -> None:
        from redis.exceptions import NoPermissionError, RedisError

        channel = f"{self._server.address.base}:wake"
        pause = 0.05
        while not over.is_set():
            self._connection = connection = self._server.connection(None)
            try:
                connection.connect()
                connection.send_command("SUBSCRIBE", channel)
                while not over.is_set():
                    connection.read_response()  # the first says that we are subscribed
                    pause = 0.05
                    self.tell()
            except NoPermissionError:
                connection.disconnect()
                self.deaf = True
                return
            except (RedisError, OSError, ValueError, AttributeError):  # the last two: closed in mid-read
                connection.disconnect()
                over.wait(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)

    def tell(self) -> None:
        """Whoever waits looks again."""
        with self._changed:
            self.heard += 1
            self._changed.notify_all()
