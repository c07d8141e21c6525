"""Connections to the server: up to `pool_size`, made when needed, used by one thread at a time, and kept for the next.

A forked process makes its own. Those it inherited are neither used nor closed: closing would end the parent's.
"""

import os
import threading
from contextlib import suppress

from dibs.queues.postgres.address import Address
from dibs.queues.postgres.driver import Connection, OwnConnection, psycopg
from dibs.queues.postgres.ids import teach
from dibs.queues.postgres.refusals import OLDEST, NotConnected, not_connected, too_old

# A plan is made once, and perhaps while the queue is empty, so it must be one that stays good: from index to index,
# never through a whole table. Left alone the planner, whose statistics of a queue are always out of date, would now and
# then read and sort all that is ready to find the first. Before version 18 what is off still has a price, so high that
# the server would compile every such statement: seconds, for one that takes less than a millisecond.
_PLANS = (
    b"".join(
        b"SET %s = off;" % way
        for way in (b"enable_seqscan", b"enable_bitmapscan", b"enable_hashjoin", b"enable_mergejoin")
    )
    + b"SET jit = off; SET plan_cache_mode = force_generic_plan"
)


_IDLE = psycopg.pq.TransactionStatus.IDLE


class Connections:
    def __init__(self, address: Address) -> None:
        self._address = address
        self._inherited: list[list[Connection]] = []
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._changed = threading.Condition()
        self._idle: list[Connection] = []
        self._all: list[Connection] = []
        self._out = 0

    def one(self) -> "_One":
        """A connection that is in no transaction. NotConnected, or StorageError when trying again is of no use."""
        return _One(self)

    def take(self) -> Connection:
        if self._pid != os.getpid():
            self._inherited.append(self._all)
            self._begin()
        with self._changed:
            while self._out >= self._address.pool_size:
                self._changed.wait()
            self._out += 1
            if self._idle:
                return self._idle.pop()
        try:
            made = self.connect()
        except BaseException:
            with self._changed:
                self._out -= 1
                self._changed.notify()
            raise
        with self._changed:
            self._all.append(made)
        return made

    def give(self, connection: Connection) -> None:
        usable = connection.pgconn.transaction_status == _IDLE
        with self._changed:
            self._out -= 1
            if usable:
                self._idle.append(connection)
            else:
                self._all.remove(connection)
            self._changed.notify()
        if not usable:
            _close(connection)

    def connect(self) -> Connection:
        """One that is not counted here."""
        try:
            connection = OwnConnection.connect(self._address.conninfo, autocommit=True)
        except psycopg.Error as error:
            raise not_connected(error, self._address) from None
        try:
            if connection.info.server_version < OLDEST * 10000:
                raise too_old(connection.info.server_version, self._address)
            teach(connection)
            connection.kept = connection.cursor()
            if self._address.pooler:
                connection.prepare_threshold = None
            else:
                connection.execute(_PLANS)
        except psycopg.Error:
            _close(connection)
            raise NotConnected(f"{self._address.shown} closed a new connection at once; try again") from None
        except BaseException:
            _close(connection)
            raise
        return connection

    def drop_idle(self) -> None:
        """The server has gone: what is idle is broken too."""
        with self._changed:
            dropped, self._idle = self._idle, []
            for connection in dropped:
                self._all.remove(connection)
        for connection in dropped:
            _close(connection)

    def close(self) -> None:
        """Those in use are closed when they come back."""
        if self._pid == os.getpid():
            self.drop_idle()


class _One:
    """A connection that is out, and comes back."""

    __slots__ = ("_connection", "_connections")

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def __enter__(self) -> Connection:
        self._connection = self._connections.take()
        return self._connection

    def __exit__(self, *exc: object) -> None:
        self._connections.give(self._connection)


def _close(connection: Connection) -> None:
    with suppress(psycopg.Error):
        connection.close()
