"""`dibs.json` in a stored queue's root: the format version and the settings fixed at creation."""

from contextlib import suppress

from dibs import __version__
from dibs.clock import Clock, iso
from dibs.errors import BadInput, FormatError
from dibs.queues.stored.layout import FORMAT
from dibs.stores import settle
from dibs.stores.store import Exists, Store
from dibs.task import decode, encode

NAME = "dibs.json"
RETENTION_SECONDS = 7 * 86400.0


def open_root(store: Store, url: str, clock: Clock, *, create: bool, retention: float | None) -> float:
    """The retention in seconds. FormatError when this is no queue, or one newer than this version knows."""
    entry = store.get(NAME)
    if entry is None:
        if not create:
            raise FormatError(f"no queue at {url}; `dibs push {url} …` creates one")
        keep = RETENTION_SECONDS if retention is None else retention
        record = {"format": FORMAT, "retention": keep, "created": iso(clock.wall()), "by": f"dibs {__version__}"}
        with suppress(Exists):
            settle.create(store, NAME, encode(record))
        entry = store.get(NAME)
    try:
        found = decode(entry.data if entry else b"")
        if "index" in found:
            raise FormatError(f"{url} is an index, not a queue; `dibs index` works on it, or name another place")
        form, keep = found["format"], float(found["retention"])
    except (BadInput, KeyError, TypeError, ValueError):
        raise FormatError(f"{NAME} of queue {url} is damaged; restore it, or use another place") from None
    if not isinstance(form, int) or form > FORMAT:
        raise FormatError(f"queue {url} has format {form}, this dibs {__version__} knows up to {FORMAT}; upgrade dibs")
    return keep if retention is None else retention
