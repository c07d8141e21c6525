"""psycopg, or the error that says how to get it. Everything here that talks to the server imports it from here."""

from typing import Any

from dibs.errors import MissingExtra

try:
    import psycopg
except ImportError:
    raise MissingExtra("postgres: needs psycopg, which is not installed; pip install 'dibs[postgres]'") from None

Connection = psycopg.Connection[tuple[Any, ...]]
Row = tuple[Any, ...]


class OwnConnection(psycopg.Connection[Row]):
    """One of dibs' own, with the cursor for all its statements: making one takes a third of a statement's time."""

    kept: "psycopg.Cursor[Row]"


__all__ = ["Connection", "OwnConnection", "Row", "psycopg"]
