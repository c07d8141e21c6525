"""`dibs.json` in the root of an index: the format, and the settings fixed at creation."""

from typing import NamedTuple

from dibs import __version__
from dibs.clock import Clock, iso
from dibs.errors import BadInput, FormatError
from dibs.index.layout import COUNTS, KEYS, digits_of
from dibs.stores import settle
from dibs.stores.store import Exists, Store
from dibs.task import decode, encode

FILE = "dibs.json"
FORMAT = 1
MERGES = ("record", "fields")
TIMES = ("writer", "store")


class Root(NamedTuple):
    shards: int = 256
    merge: str = "record"  # the whole record of the latest time stays, or of each field the latest value
    keys: str = "text"  # how keys are normalised
    time: str = "writer"  # whose clock stamps records that come without a time

    @property
    def digits(self) -> int:
        return COUNTS[self.shards]

    @property
    def fieldwise(self) -> bool:
        return self.merge == "fields"


def checked(root: Root) -> Root:
    digits_of(root.shards)
    for name, known in (("merge", MERGES), ("keys", KEYS), ("time", TIMES)):
        if getattr(root, name) not in known:
            raise BadInput(f"{name} {getattr(root, name)!r} is not known; use {' or '.join(known)}")
    return root


def load(store: Store, url: str) -> Root | None:
    entry = store.get(FILE)
    if entry is None:
        return None
    try:
        found = decode(entry.data)
        if "format" in found:
            raise FormatError(f"{url} is a queue, not an index; name another place for the index")
        form = found["index"]
        if isinstance(form, int) and form <= FORMAT:
            return checked(Root(found["shards"], found["merge"], found["keys"], found["time"]))
    except (BadInput, KeyError, TypeError):
        raise FormatError(f"{FILE} of {url} is damaged; restore it, or use another place") from None
    raise FormatError(f"index {url} has format {form}, this dibs {__version__} knows up to {FORMAT}; upgrade dibs")


def create(store: Store, root: Root, url: str, clock: Clock) -> Root:
    """The root of a new index; what somebody else has just created, if so."""
    record = {"index": FORMAT, **root._asdict(), "created": iso(clock.wall()), "by": f"dibs {__version__}"}
    try:
        settle.create(store, FILE, encode(record))
        return root
    except Exists:
        found = load(store, url)
        if found is None:
            raise FormatError(f"{FILE} of {url} vanished while the index was created; try again") from None
        return found
