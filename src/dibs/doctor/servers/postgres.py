"""PostgreSQL: version, what is durable, isolation, its clock, a pooler in between, and one race for rows."""

import random
from collections.abc import Callable, Iterator
from typing import Any

from dibs.clock import SYSTEM, Clock
from dibs.doctor.finding import Finding, Level
from dibs.doctor.folders.times import skewed
from dibs.doctor.race import LOST, WON, rounds
from dibs.doctor.report import Report
from dibs.doctor.servers.racing import raced
from dibs.errors import DibsError
from dibs.queues import split_url
from dibs.queues.postgres.address import Address, parse
from dibs.queues.postgres.connections import Connections
from dibs.queues.postgres.driver import Connection, psycopg

_ASKED = (
    "current_setting('server_version'), current_setting('fsync'), current_setting('synchronous_commit'), "
    "current_setting('full_page_writes'), current_setting('default_transaction_isolation'), pg_is_in_recovery(), "
    "extract(epoch from clock_timestamp())::float8"
)


class Acts:
    def __init__(self, place: list[str]) -> None:
        url, self._table = place
        self._connection = Connections(_address(url)).connect()
        self._clock = SYSTEM

    def ready(self, me: int) -> bool:
        return True

    def race(self, me: int, count: int, at: float, step: float) -> list[str]:
        sql = f"UPDATE {self._table} SET epoch = 1, holder = %s WHERE id = %s AND epoch = 0"  # noqa: S608
        words = []
        for number in rounds(count, at, step, self._clock):
            changed = self._connection.execute(sql, (me, number)).rowcount
            words.append(WON if changed == 1 else LOST)
        return words


def examine_postgres(
    report: Report, url: str, clock: Clock, rng: random.Random, tell: Callable[[str], None], *, quick: bool
) -> None:
    connection = Connections(_address(url)).connect()
    try:
        tell("settings")
        report.findings += _settings(report, connection, clock, _address(url))
        tell("a race for rows")
        report.findings.append(_race(connection, url, clock, rng, quick=quick))
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
    if len(pids) == 1 or address.pooler:
        return Finding(check="pooler", tried="8 transactions", happened="one session" if len(pids) == 1 else "as said")
    words = "each transaction gets another session, so a pooler stands between"
    remedy = "add ?pooler=yes to the URL, or connect to the server itself"
    return Finding(check="pooler", tried="8 transactions", happened=words, level=Level.WARNING, remedy=remedy)


def _race(connection: Connection, url: str, clock: Clock, rng: random.Random, *, quick: bool) -> Finding:
    table, count = f"dibs_doctor_{rng.getrandbits(40):010x}", 40 if quick else 200
    try:
        connection.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, epoch int, holder int)")
        try:
            connection.execute(f"INSERT INTO {table} SELECT n, 0 FROM generate_series(0, {count - 1}) AS n")  # noqa: S608
            return raced(__name__, [url, table], clock, crew=5, count=count, step=0.01, check="one winner")
        finally:
            connection.execute(f"DROP TABLE {table}")
    except (psycopg.Error, DibsError) as error:
        words = f"could not be tried: {' '.join(str(error).split())}"
        remedy = "GRANT CREATE ON SCHEMA public to this user for it, or take PostgreSQL's word"
        return Finding(check="one winner", tried="no", happened=words, level=Level.NOTE, remedy=remedy, many=True)


def _address(url: str) -> Address:
    from urllib.parse import parse_qsl

    _, path, query = split_url(url)
    return parse(url, path, dict(parse_qsl(query, keep_blank_values=True)))
