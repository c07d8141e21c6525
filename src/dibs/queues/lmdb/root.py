"""The format version, and the settings fixed at creation."""

from typing import Any

from dibs import __version__
from dibs.clock import Clock, iso
from dibs.errors import FormatError
from dibs.queues.lmdb.database import Database, Transaction
from dibs.queues.lmdb.layout import FORMAT_KEY
from dibs.task import decode, encode

FORMAT = 3
RETENTION_SECONDS = 7 * 86400.0
_EARLIER = (1, 2)  # which no release has written
_FIRST_FORMAT_KEY = b"dibs.json"  # of format 1


def open_root(database: Database, url: str, clock: Clock, *, create: bool, retention: float | None) -> float:
    """The retention in seconds. FormatError when this is no queue, or one of another version."""
    found = database.read(lambda txn: txn.get(FORMAT_KEY))
    if found is None:
        if not create:
            _refuse_others(database, url)
            raise FormatError(f"no queue at {url}; `dibs push {url} …` creates one")
        found = _created(database, url, clock, RETENTION_SECONDS if retention is None else retention)
    root: dict[str, Any] = decode(found)
    if root.get("format") in _EARLIER:
        raise _outdated(url, root["format"])
    if root.get("format") != FORMAT:
        raise FormatError(
            f"queue {url} has format {root.get('format')}, this dibs {__version__} knows {FORMAT}; upgrade dibs"
        )
    return float(root["retention"]) if retention is None else retention


def _created(database: Database, url: str, clock: Clock, retention: float) -> bytes:
    _refuse_others(database, url)
    body = encode({"format": FORMAT, "retention": retention, "created": iso(clock.wall()), "by": f"dibs {__version__}"})

    def create(txn: Transaction) -> bytes:
        txn.put(FORMAT_KEY, body, overwrite=False)
        found: bytes = txn.get(FORMAT_KEY)
        return found

    return database.write(create, durable=True)


def _refuse_others(database: Database, url: str) -> None:
    def look(txn: Transaction) -> tuple[bool, bool]:
        return txn.stat()["entries"] > 0 and txn.get(FORMAT_KEY) is None, txn.get(_FIRST_FORMAT_KEY) is not None

    foreign, old = database.read(look)
    if old:
        raise _outdated(url, 1)
    if foreign:
        raise FormatError(f"{url} is somebody else's LMDB environment; use another folder")


def _outdated(url: str, number: int) -> FormatError:
    return FormatError(
        f"queue {url} has format {number}, which this dibs {__version__} no longer reads; use another folder"
    )
