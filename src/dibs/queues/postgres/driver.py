"""psycopg, or the error that says how to get it. Everything here that talks to the server imports it from here."""

from typing import Any

from dibs.errors import MissingExtra

try:
    import psycopg
except ImportError:
    raise MissingExtra("postgres: needs psycopg, which is not installed; pip install 'dibs[postgres]'") from None

Connection = psycopg.Connection[tuple[Any, ...]]
Row = tuple[Any, ...]

__all__ = ["Connection", "Row", "psycopg"]
