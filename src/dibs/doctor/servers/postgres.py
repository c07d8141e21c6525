"""PostgreSQL: version, what is durable, isolation, its clock, a pooler in between, and one race for rows."""

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from dibs.clock import SYSTEM, Clock
from dibs.doctor.finding import Finding, Level
from dibs.doctor.folders.times import skewed
from dibs.doctor.race import LOST, WON, rounds
from dibs.doctor.report import Report
from dibs.doctor.servers.racing import paced, raced
from dibs.doctor.traces import is_left, new_name
from dibs.errors import DibsError, StorageError
from dibs.queues import split_url
from dibs.queues.postgres.address import Address, parse
from dibs.queues.postgres.connections import Connections
from dibs.queues.postgres.driver import Connection, psycopg
from dibs.queues.postgres.statements import quoted_name
from dibs.redact import redact

_CREW = 5
_PREFIX = "dibs_doctor_"
_ASKED = (
    "current_setting('server_version'), current_setting('fsync'), current_setting('synchronous_commit'), "
    "current_setting('full_page_writes'), current_setting('default_transaction_isolation'), pg_is_in_recovery(), "
    "extract(epoch from clock_timestamp())::float8"
)


class Acts:
    def __init__(self, place: list[str]) -> None:
        url, schema, table = place
        self._table = f"{quoted_name(schema)}.{table}"
        self._connection = Connections(_address(url)).connect()
        self._clock = SYSTEM

    def ready(self, me: int) -> bool:
        return True

    def race(self, me: int, count: int, at: float, step: float) -> list[str]:
        sql = f"UPDATE {self._table} SET epoch = 1, holder = %s WHERE id = %s AND epoch = 0"  # noqa: S608
        words = []
        for number in rounds(count, at, step, self._clock):
            changed = self._connection.execute(sql, (me, number), prepare=False).rowcount  # as a pooler wants it
            words.append(WON if changed == 1 else LOST)
        return words

    def pace(self, me: int, seconds: float) -> list[float]:
        """(how many, in how many seconds)"""
        sql = f"UPDATE {self._table} SET epoch = epoch + 1 WHERE id = %s"  # noqa: S608
        done, start = 0, self._clock.boottime()
        while (now := self._clock.boottime()) - start < seconds:
            self._connection.execute(sql, (me,), prepare=False)
            done += 1
        return [done, now - start]


def examine_postgres(
    report: Report, url: str, clock: Clock, rng: random.Random, tell: Callable[[str], None], *, quick: bool
) -> None:
    connection = Connections(_address(url)).connect()
    try:
        tell("settings")
        report.findings += _settings(report, connection, clock, _address(url))
        if any(one.check == "role" for one in report.findings):
            return  # nothing can be written here
        _sweep(connection, clock)
        tell("a race for rows")
        report.findings += _race(report, connection, url, clock, rng, quick=quick)
    except psycopg.Error as error:
        raise StorageError(f"{redact(url)} was lost midway: {_words(error)}; look at its log, try again") from None
    finally:
        connection.close()


def _settings(report: Report, connection: Connection, clock: Clock, address: Address) -> Iterator[Finding]:
    row: Any = connection.execute(f"SELECT {_ASKED}").fetchone()
    version, fsync, commit, pages, isolation, standby, now = row
    skew = now - clock.wall()
    report.kind = f"PostgreSQL {version.split()[0]}"
    yield Finding(check="version", tried="asked", happened=version)
    if standby:
        words = "this is a standby: nothing can be written here"
        yield Finding(check="role", tried="asked", happened=words, level=Level.BAD, remedy="name the primary")
    yield durability(fsync, pages, commit)
    level = Level.GOOD if isolation == "read committed" else Level.NOTE
    yield Finding(check="isolation", tried="asked", happened=f"{isolation}; dibs is right in all of them", level=level)
    yield skewed(skew, "server")
    yield _pooled(connection, address)


def durability(fsync: str, pages: str, commit: str) -> Finding:
    if fsync == "off" or pages == "off":
        words = f"fsync is {fsync}, full_page_writes {pages}: a power cut can lose or damage everything"
        return Finding(check="durability", tried="asked", happened=words, level=Level.BAD, remedy="switch both on")
    if commit == "off":
        words = "synchronous_commit is off: a crash loses the pushes of the last moment"
        remedy = "ALTER ROLE … SET synchronous_commit = on, for the user of the queue"
        return Finding(check="durability", tried="asked", happened=words, level=Level.WARNING, remedy=remedy)
    return Finding(check="durability", tried="asked", happened=f"fsync on, synchronous_commit {commit}")


def _pooled(connection: Connection, address: Address) -> Finding:
    pids = set()
    for _ in range(8):
        with connection.transaction():
            row: Any = connection.execute("SELECT pg_backend_pid()", prepare=False).fetchone()
            pids.add(row[0])
    told = connection.info.backend_pid  # by whoever answered: a pooler has a number of its own
    if pids == {told} or address.pooler:
        return Finding(check="pooler", tried="8 transactions", happened="one session" if pids == {told} else "as said")
    words = "it runs in another session than the one that was connected to, so a pooler stands between"
    remedy = "add ?pooler=yes to the URL (unless it keeps one session for each client), or connect to the server itself"
    return Finding(check="pooler", tried="8 transactions", happened=words, level=Level.WARNING, remedy=remedy)


def _race(
    report: Report, connection: Connection, url: str, clock: Clock, rng: random.Random, *, quick: bool
) -> Iterator[Finding]:
    name, count = f"{_PREFIX}{new_name(clock, rng, between='_')}", 40 if quick else 200
    schema, made = _schema(connection, _address(url).schema, name)
    place, table = [url, schema, name], f"{_quoted(schema)}.{name}"
    try:
        try:
            if made:
                connection.execute(f"CREATE SCHEMA {_quoted(schema)}".encode())
            connection.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, epoch int, holder int)".encode())
            rows = f"INSERT INTO {table} SELECT n, 0 FROM generate_series(0, {count - 1}) AS n"  # noqa: S608
            connection.execute(rows.encode())
            yield raced(__name__, place, clock, crew=_CREW, count=count, step=0.01, check="one winner")
            yield paced(report, __name__, place, clock, crew=_CREW)
        finally:
            _drop(
                connection, url, f"SCHEMA IF EXISTS {_quoted(schema)} CASCADE" if made else f"TABLE IF EXISTS {table}"
            )
    except psycopg.errors.InsufficientPrivilege as error:
        what = "DATABASE … (or CREATE SCHEMA … AUTHORIZATION …)" if made else f"SCHEMA {schema}"
        remedy = f"GRANT CREATE ON {what} to this user, and run it again"
        yield Finding(check="one winner", tried="no", happened=_untried(error), level=Level.ONE_HOST, remedy=remedy)
    except (psycopg.Error, DibsError) as error:
        remedy = "look at the server's log, and run it again"
        yield Finding(check="one winner", tried="begun", happened=_untried(error), level=Level.BAD, remedy=remedy)


def _schema(connection: Connection, queues: str, own: str) -> tuple[str, bool]:
    """Where the table is made: where the queue's are, else in a schema that is made for it, as the queue's would be."""
    found = connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (queues,)).fetchone()
    return (own, True) if found is None else (queues, False)


def _drop(connection: Connection, url: str, what: str) -> None:
    """Through a new connection if this one was cut. Of what was never made nothing is to be said."""
    for again in (False, True):
        with suppress(psycopg.Error, DibsError):
            way = Connections(_address(url)).connect() if again else connection
            way.execute(f"DROP {what}".encode())
            if again:
                way.close()
            return


def _quoted(schema: str) -> str:
    """For statements without arguments, in which % stands for itself."""
    return quoted_name(schema).replace("%%", "%")


def _untried(error: Exception) -> str:
    return f"could not be tried: {_words(error)}"


def _words(error: Exception) -> str:
    return " ".join(str(error).split())


def _sweep(connection: Connection, clock: Clock) -> None:
    """Tables and schemas that doctors left who were killed."""
    tables = (
        "SELECT nspname, relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace "
        "WHERE relkind = 'r' AND starts_with(relname, %s)"
    )
    schemas = "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s)"
    left = [
        f"TABLE IF EXISTS {_quoted(schema)}.{name}"
        for schema, name in connection.execute(tables, (_PREFIX,)).fetchall()
        if is_left(name, clock)
    ]
    left += [
        f"SCHEMA IF EXISTS {name} CASCADE"
        for (name,) in connection.execute(schemas, (_PREFIX,)).fetchall()
        if is_left(name, clock)
    ]
    for what in left:
        with suppress(psycopg.Error):  # of another user
            connection.execute(f"DROP {what}".encode())


def _address(url: str) -> Address:
    from urllib.parse import parse_qsl

    _, path, query = split_url(url)
    return parse(url, path, dict(parse_qsl(query, keep_blank_values=True)))
