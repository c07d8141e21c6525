"""The Store contract: small values by key, each step atomic on one key.

A version names one value that a key had. Stores may derive it from the bytes (an ETag is often a
hash), so equal bytes may have equal versions: whoever compares versions puts a fresh nonce into
every value (`lease` and `keys` do). A listing is a hint: it may lag, and what it names may be gone.

    Exists   create found a value; nothing was written
    Changed  replace or delete_if found another version, or none; nothing was written
    Unsure   the answer was lost: the write may have taken effect, now or a little later. Only the
             same call with the same bytes may follow, or a look (see `stores.settle`)

A store never repeats a conditional write on its own: the second try would be refused by the first.
Keys are parts joined by "/". No part is empty, "." or ".."; a key is never another key's folder.
"""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from dibs.errors import BadInput, StorageError


class Exists(Exception):
    """The key has a value already."""


class Changed(Exception):
    """The key no longer has the version that was seen."""


class Unsure(StorageError):
    """The answer was lost; the write may have taken effect."""


class Entry(NamedTuple):
    data: bytes
    version: str
    modified: float | None = None  # the store's time at which this version was written, where it says so


class Store(Protocol):
    """Every method may raise StorageError; every write may raise Unsure."""

    #: How many requests may well be under way at once: more than one where each is a journey.
    lanes: int

    def get(self, key: str) -> Entry | None: ...

    def create(self, key: str, data: bytes) -> str:
        """Atomic create-if-absent of non-empty data. Returns the version. Raises Exists."""
        ...

    def replace(self, key: str, data: bytes, version: str) -> str:
        """Atomic compare-and-set. Returns the new version. Raises Changed."""
        ...

    def delete(self, key: str) -> bool:
        """Idempotent. False when there was nothing (a store that cannot know says True)."""
        ...

    def discard(self, key: str) -> None:
        """Delete it some time soon. For what nobody minds meeting again."""
        ...

    def delete_if(self, key: str, version: str) -> None:
        """Atomic compare-and-delete. Raises Changed, or Unsupported where the medium has no such thing."""
        ...

    def list(self, prefix: str, start_after: str = "") -> Iterator[str]:
        """Keys that begin with `prefix` and sort after `start_after`, in order, read a page at a time."""
        ...

    def folders(self, prefix: str) -> Iterator[str]:
        """The distinct next parts of the longer keys below `prefix`, which ends in "/" or is empty; in order."""
        ...

    def now(self) -> float:
        """The store's clock, in seconds since 1970: the one clock that all its users share."""
        ...


def checked(key: str) -> str:
    """The key itself. BadInput when it could leave the store or could not be a path."""
    for part in key.split("/"):
        if part in ("", ".", "..") or "\0" in part:
            raise BadInput(f"store key {key!r} is not acceptable; use parts joined by '/', none empty, '.' or '..'")
    return key
