"""What cannot be: one line each, that says what to do, and no password."""

import subprocess
import sys
from typing import Any
from urllib.parse import quote, urlsplit

import psycopg
import pytest

import dibs
from dibs.errors import FormatError
from dibs.queues.postgres import connections
from postgres.conftest import Open
from postgres.places import url
from servers import ports
from servers.postgres_server import SECURED, SECURED_PASSWORD
from servers.server import Server

SECRET = "very-s3cr3t"


def refused(kind: type[Exception], place: str) -> str:
    with pytest.raises(kind) as refusal:
        dibs.open(place)
    words = str(refusal.value)
    assert "\n" not in words
    assert SECRET not in words
    return words


def at(postgres: Server, user: str, password: str, database: str = "dibs") -> str:
    parts = urlsplit(postgres.endpoint)
    return f"postgres://{user}:{password}@{parts.hostname}:{parts.port}/{database}?queue=q"


def test_a_wrong_password(postgres: Server) -> None:
    assert "password" in refused(dibs.StorageError, at(postgres, SECURED[0], SECRET))


def test_the_right_password(postgres: Server, connection: Any, open_queue: Open) -> None:
    open_queue(url(postgres)).close()
    connection.execute(f"GRANT ALL ON SCHEMA dibs TO {SECURED[0]}")
    connection.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA dibs TO {SECURED[0]}")
    queue = open_queue(at(postgres, SECURED[0], quote(SECURED_PASSWORD, safe="")))
    queue.push(1)
    assert SECURED_PASSWORD not in repr(queue) + queue.address
    assert SECURED[1] not in repr(queue) + queue.address


def test_no_such_database_or_user(postgres: Server) -> None:
    assert "createdb" in refused(dibs.StorageError, at(postgres, "dibs", SECRET, "nowhere"))
    assert "createuser" in refused(dibs.StorageError, at(postgres, "nobody", SECRET))


def test_nobody_there() -> None:
    words = refused(dibs.StorageError, f"postgres://dibs:{SECRET}@127.0.0.1:{ports.free()}/dibs?queue=q")
    assert "cannot be reached" in words


@pytest.mark.parametrize(
    "place",
    [
        f"postgres://dibs:{SECRET}@127.0.0.1:port/dibs",
        f"postgres://dibs:{SECRET}@[::1/dibs",
        f"postgres://dibs:{SECRET}%zz@127.0.0.1/dibs",
    ],
)
def test_what_is_no_url(place: str) -> None:
    assert refused(dibs.BadInput, place)


def test_a_server_that_is_too_old(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "OLDEST", 99)
    assert "newer" in refused(FormatError, url(postgres))


def test_no_right_to_make_tables(postgres: Server) -> None:
    place = at(postgres, SECURED[0], quote(SECURED_PASSWORD, safe="")) + "&schema=not_mine"
    assert "permit" in refused(dibs.StorageError, place)


def test_tables_that_are_gone(open_queue: Open, postgres: Server, connection: Any) -> None:
    queue = open_queue(url(postgres, "soon_gone"))
    connection.execute("DROP SCHEMA soon_gone CASCADE")
    with pytest.raises(FormatError, match="dibs migrate"):
        queue.push(1)


def test_a_read_only_server(open_queue: Open, place: str) -> None:
    open_queue().push(1)
    queue = open_queue(place + "&options=" + quote("-c default_transaction_read_only=on"))
    with pytest.raises(dibs.StorageError, match="read-only"):
        queue.push(1)
    assert queue.stats().total == 1


def test_the_driver_is_missing() -> None:
    script = "import sys; sys.modules['psycopg'] = None; import dibs; dibs.open('postgres://127.0.0.1/x')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    last = done.stderr.strip().splitlines()[-1]
    assert "MissingExtra" in last
    assert "pip install 'dibs[postgres]'" in last


def test_the_caller_s_connection_is_not_closed_by_a_refusal(queue: Any, connection: "psycopg.Connection[Any]") -> None:
    with pytest.raises(dibs.BadInput):
        queue.push({1, 2}, connection=connection)
    queue.push(1, connection=connection)
    assert not connection.closed
