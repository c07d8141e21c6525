"""What the server, or the way to it, refused: one line each, and never a password."""

from dibs.errors import DibsError, FormatError, StorageError
from dibs.queues.postgres.address import Address
from dibs.queues.postgres.driver import psycopg
from dibs.redact import redact

OLDEST = 12
_STARTING = ("57P03", "53300")  # the server starts, or has no room at this moment: nothing was done
_AWAY = ("57P01", "57P02", "57P05")  # it stops, or has stopped: what was asked may have been done
_CLASHED = ("40P01", "40001", "55P03")  # rolled back whole: asking again is safe
_NO_SCHEMA = ("42P01", "3F000", "42883")


class Away(StorageError):
    """The connection is gone. Nobody knows whether what was asked took effect."""


class NotConnected(StorageError):
    """There is no connection: nothing was asked."""


class Clashed(StorageError):
    """The server undid it, because of what somebody else did at the same time."""


class KeyTaken(StorageError):
    """A live task has that key."""


class NoSchema(FormatError):
    """There are no tables of dibs."""


def too_old(version: int, address: Address) -> FormatError:
    return FormatError(
        f"the server of {address.shown} is PostgreSQL {version // 10000}; dibs needs {OLDEST} or newer: upgrade it"
    )


def not_connected(error: "psycopg.Error", address: Address) -> StorageError:
    """psycopg has no code for what is refused while connecting, only the server's words."""
    words = str(error)
    where = address.shown
    if "password authentication failed" in words or "no password supplied" in words or "fe_sendauth" in words:
        return StorageError(f"{where} does not accept this user and password; set PGPASSWORD, or check the URL")
    if 'database "' in words and "does not exist" in words:
        return StorageError(f"there is no such database at {where}; create it (createdb), or check the URL")
    if 'role "' in words and "does not exist" in words:
        return StorageError(f"there is no such user at {where}; create it (createuser), or check the URL")
    if "pg_hba.conf" in words or "authentication failed" in words or "not permitted to log in" in words:
        return StorageError(f"{where} does not let this user in from here; see pg_hba.conf on the server")
    if "too many clients" in words or "remaining connection slots" in words or "too many connections" in words:
        return NotConnected(f"{where} has no connection left; raise max_connections, or lower pool_size")
    if "starting up" in words or "shutting down" in words or "recovery" in words:
        return NotConnected(f"{where} is starting or stopping; try again in a moment")
    if "certificate" in words or ("SSL" in words and "refused" not in words):
        return StorageError(f"{where}: the encrypted connection fails ({_line(words)}); see sslmode and sslrootcert")
    return NotConnected(f"{where} cannot be reached ({_line(words)}); is the server there, and host and port right?")


def refusal(error: "psycopg.Error", verb: str, address: Address, *, broken: bool) -> DibsError:
    code = error.sqlstate or ""
    where = address.shown
    if code in _STARTING:
        return NotConnected(f"{where} takes no connections at this moment; try again")
    if code in _AWAY or (broken and not code) or code.startswith("08"):
        return Away(f"the connection to {where} broke during {verb}; whether it took effect is not known")
    if code in _CLASHED:
        return Clashed(f"{verb} at {where} clashed with others again and again; try again")
    if code == "23505":
        return KeyTaken(f"{verb} at {where}: a live task has that key")
    if code == "23502":  # a push, or a move, asks for it in the same statement
        return StorageError(f"queue {address.queue!r} of {where} has been deleted; open it again to make it anew")
    if code == "42703":
        return FormatError(
            f"the tables in schema {address.schema!r} of {where} are not those of this dibs any more; start it again"
        )
    if code in _NO_SCHEMA:
        return NoSchema(f"no dibs tables in schema {address.schema!r} of {where}; `dibs migrate URL` makes them")
    if code == "42501":
        return StorageError(
            f"{where} does not permit {verb} ({_line(str(error))}); GRANT it on schema {address.schema}"
        )
    if code in ("53100", "53200"):
        return StorageError(f"{where} is out of space or memory during {verb}; nothing was changed")
    if code == "25006":
        return StorageError(f"{where} is read-only, a standby perhaps; use target_session_attrs=read-write")
    if code == "25P02":
        return StorageError(f"the transaction given for {verb} has failed before; roll it back and begin again")
    return StorageError(f"{where} refused {verb}: {_line(str(error))}{f' ({code})' if code else ''}")


def _line(words: str) -> str:
    """The first line of what the server said."""
    line = next((line.strip() for line in words.splitlines() if line.strip()), "no reason given")
    return redact(line.rpartition("failed: ")[2] or line)[:200]
