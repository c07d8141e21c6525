"""The tables: made and brought up to date, once, however many try at the same time.

A schema says its version. One that is newer than this dibs knows is refused, an older one wants `dibs migrate`.
Every version has its file `sql/migrate_N.sql`, and a new schema is made by `sql/tables.sql`: in one transaction, under
a lock of the whole database.
"""

from zlib import crc32

from dibs import __version__
from dibs.errors import FormatError
from dibs.queues.postgres.database import Database
from dibs.queues.postgres.driver import Connection, psycopg
from dibs.queues.postgres.refusals import NoSchema, refusal
from dibs.queues.postgres.statements import quoted_name

VERSION = 2
RETENTION_SECONDS = 7 * 86400.0
_LOCK = 0x64696273  # "dibs"


def open_schema(database: Database, *, create: bool) -> float:
    """Find the queue, and its tables first; returns its retention. With `create` what is not there is made."""
    address = database.address
    try:
        version, queue, retention = _look(database)
    except NoSchema:
        if not create:
            raise NoSchema(
                f"no dibs tables in schema {address.schema!r} of {address.shown}; "
                "`dibs migrate URL` or the first push makes them"
            ) from None
        migrate(database)
        version, queue, retention = _look(database)
    check_version(version, database)
    if queue is None:
        if not create:
            raise FormatError(f"no queue {address.queue!r} at {address.shown}; `dibs push URL …` creates it")
        kept = RETENTION_SECONDS if address.retention is None else address.retention
        database.get("create", name=address.queue, retention=kept)
        version, queue, retention = _look(database)
    assert queue is not None
    database.queue = queue
    database.channel = f"dibs_{crc32(address.schema.encode()):08x}_{queue}"
    return retention if address.retention is None else address.retention


def _look(database: Database) -> tuple[int, int | None, float]:
    (row,) = database.safely(
        lambda connection: database.ask(connection, "open", name=database.address.queue), patience=0.0
    )
    return row[0] or 0, row[1], row[2] or 0.0


def check_version(version: int, database: Database) -> None:
    address = database.address
    if version > VERSION:
        raise FormatError(
            f"schema {address.schema!r} of {address.shown} has version {version}, "
            f"this dibs {__version__} knows up to {VERSION}; upgrade dibs"
        )
    if version < VERSION:
        raise FormatError(
            f"schema {address.schema!r} of {address.shown} has version {version}, "
            f"this dibs {__version__} needs {VERSION}; run `dibs migrate URL`"
        )


def migrate(database: Database) -> tuple[int, int]:
    """Bring the schema up to date: (version before, version now). Safe to run twice, also at the same time."""
    return database.safely(lambda connection: _migrate(connection, database))


def _migrate(connection: Connection, database: Database) -> tuple[int, int]:
    with database.transaction(connection):
        try:
            lock = crc32(database.address.schema.encode()) - 2**31
            connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", (_LOCK, lock))
            name = quoted_name(database.address.schema).replace("%%", "%")
            known = connection.execute(
                "SELECT 1 FROM pg_namespace WHERE nspname = %s", (database.address.schema,)
            ).fetchone()
            if known is None:  # CREATE … IF NOT EXISTS asks for the right to create even if it exists
                connection.execute(f"CREATE SCHEMA {name}".encode())
        except psycopg.Error as error:
            raise refusal(error, "migrate", database.address, broken=connection.closed) from None
        database.ask(connection, "versions")
        before = _version(connection, database)
        if before > VERSION:
            check_version(before, database)
        for version in range(before + 1, VERSION + 1) if before else (VERSION,):
            database.ask(connection, f"migrate_{version}" if before else "tables")
            database.ask(connection, "note_version", version=version, by=f"dibs {__version__}")
    return before, max(before, VERSION)


def _version(connection: Connection, database: Database) -> int:
    (row,) = database.ask(connection, "version")
    return row[0] or 0
