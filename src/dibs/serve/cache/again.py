"""Looking again at a folder of specs of which all but a few files are known: only those few are read.

None means that it is not so simple (names came or went, or much has changed): then the whole folder is looked at.
"""

import os
from collections.abc import Iterable

from dibs.specs.cache import STAMP_BYTES, Snapshot
from dibs.specs.catalog import _stamped
from dibs.specs.reading import read_entries

FEW = 500
_BLOCK = 64 * STAMP_BYTES


def all_again(seen: Snapshot, folder: str, now: float) -> Snapshot | None:
    """By a look at every file; the same object when nothing has changed. What was too fresh before is read again."""
    try:
        names, stamps = _stamped(folder)
    except OSError:
        return None
    if stamps == seen.stamps and names == seen.names:
        return seen
    if names != seen.names:
        return None
    return _read(seen, folder, _different(stamps, seen.stamps), now)


def some_again(
    seen: Snapshot, folder: str, names: Iterable[str], places: dict[str, int], now: float
) -> Snapshot | None:
    """These files, whatever their times say."""
    known = [places.get(name) for name in names]
    return None if None in known else _read(seen, folder, [place for place in known if place is not None], now)


def _read(seen: Snapshot, folder: str, places: list[int], now: float) -> Snapshot | None:
    if len(places) > FEW:
        return None
    by_name = {seen.names[place]: place for place in places}
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        entries = read_entries(list(by_name), descriptor, now)
    finally:
        os.close(descriptor)
    if len(entries) < len(by_name):
        return None  # one is gone
    return seen.replaced({by_name[name]: entry for name, entry in entries.items()})


def _different(one: bytes, other: bytes) -> list[int]:
    """The places at which two sequences of stamps differ."""
    found = []
    for start in range(0, len(one), _BLOCK):
        if one[start : start + _BLOCK] != other[start : start + _BLOCK]:
            for at in range(start, min(start + _BLOCK, len(one)), STAMP_BYTES):
                if one[at : at + STAMP_BYTES] != other[at : at + STAMP_BYTES]:
                    found.append(at // STAMP_BYTES)
    return found
