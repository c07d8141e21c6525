"""Statements sent to the server, by verb; what may be sent again after the connection broke, and for how long.

    ask      one statement on one connection; Away when nobody knows whether it took effect
    safely   something that may be done twice: tried again while the server is away, up to a limit

Within a transaction of the caller's everything goes through the caller's own connection, once.
"""

from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

from dibs.clock import Clock
from dibs.queues.postgres.address import Address
from dibs.queues.postgres.connections import Connections
from dibs.queues.postgres.driver import Connection, OwnConnection, Row, psycopg
from dibs.queues.postgres.refusals import Away, Clashed, NotConnected, refusal
from dibs.queues.postgres.statements import Statements

PATIENCE_SECONDS = 10.0
_FIRST_PAUSE = 0.02
_LONGEST_PAUSE = 0.5

Result = TypeVar("Result")


class Database:
    """Safe for threads."""

    def __init__(self, address: Address, clock: Clock) -> None:
        self.address = address
        self.clock = clock
        self.connections = Connections(address)
        self.statements = Statements(address.schema)
        self.queue = 0
        self.channel = ""
        self.patience = PATIENCE_SECONDS
        self.sent: Counter[str] = Counter()  # statements, by verb
        self._ahead: float | None = None

    def ask(self, connection: Connection, verb: str, parts: dict[str, str] | None = None, **values: Any) -> list[Row]:
        """The rows of the answer. Raises Away, Clashed, or what the server refused."""
        return self._sent(connection, verb, parts, values, _rows)

    def change(self, connection: Connection, verb: str, **values: Any) -> int:
        """As `ask`, for a statement that answers with no rows: how many it changed."""
        return self._sent(connection, verb, None, values, _changed)

    def _sent(
        self,
        connection: Connection,
        verb: str,
        parts: dict[str, str] | None,
        values: dict[str, Any],
        answer: Callable[["psycopg.Cursor[Row]"], Result],
    ) -> Result:
        query = self.statements.get(verb, **(parts or {}))
        values |= {"queue": self.queue, "channel": self.channel}
        self.sent[verb] += 1
        try:
            if isinstance(connection, OwnConnection):
                connection.kept.execute(query, values)
                return answer(connection.kept)
            with connection.cursor(row_factory=psycopg.rows.tuple_row) as cursor:
                cursor.execute(query, values)
                return answer(cursor)
        except psycopg.Error as error:
            raise refusal(error, verb, self.address, broken=connection.closed) from None

    def once(self, verb: str, parts: dict[str, str] | None = None, **values: Any) -> list[Row]:
        with self.connections.one() as connection:
            return self.ask(connection, verb, parts, **values)

    def transaction(self, connection: Connection) -> AbstractContextManager[Any]:
        """All of it, or nothing: Away when the answer to the commit was lost."""
        return _Transaction(connection, self.address)

    def within(self, given: Connection | None) -> AbstractContextManager[Connection]:
        return self.connections.one() if given is None else nullcontext(given)

    def safely(self, work: Callable[[Connection], Result], patience: float | None = None) -> Result:
        """`work` may be done again. Raises its last error when the server stays away for longer than `patience`."""
        patience = self.patience if patience is None else patience
        since: float | None = None
        pause = _FIRST_PAUSE
        while True:
            try:
                with self.connections.one() as connection:
                    return work(connection)
            except Clashed:
                since = self.clock.boottime() if since is None else since
                if self.clock.boottime() - since > patience:
                    raise
            except (Away, NotConnected):
                now = self.clock.boottime()
                first, since = since is None, now if since is None else since
                self.connections.drop_idle()
                if now - since >= patience and not first:
                    raise
                if first:
                    continue  # perhaps only that connection was broken
            self.clock.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    def get(self, verb: str, parts: dict[str, str] | None = None, **values: Any) -> list[Row]:
        """One statement that may be sent twice."""
        return self.safely(lambda connection: self.ask(connection, verb, parts, **values))

    def now(self) -> float:
        (row,) = self.get("time")
        self.hear(row[0])
        return float(row[0])

    def hear(self, now: float) -> None:
        self._ahead = now - self.clock.boottime()

    def about_now(self) -> float:
        """The server's time as it was last heard, with what has passed since: good enough to show, not to age by."""
        return self.now() if self._ahead is None else self._ahead + self.clock.boottime()


def _rows(cursor: "psycopg.Cursor[Row]") -> list[Row]:
    answer = cursor.pgresult
    return cursor.fetchall() if answer is not None and answer.nfields else []


def _changed(cursor: "psycopg.Cursor[Row]") -> int:
    return cursor.rowcount


class _Transaction:
    def __init__(self, connection: Connection, address: Address) -> None:
        self._connection = connection
        self._address = address
        self._inner = connection.transaction()

    def __enter__(self) -> None:
        try:
            self._inner.__enter__()
        except psycopg.Error as error:
            raise refusal(error, "begin", self._address, broken=self._connection.closed) from None

    def __exit__(self, *exc: Any) -> bool | None:
        try:
            return self._inner.__exit__(*exc)
        except psycopg.Error as error:
            raise refusal(error, "commit", self._address, broken=self._connection.closed) from None
