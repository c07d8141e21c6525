"""A record that is written over where it stands, so that a reader who takes no lock knows a whole one when it sees it.

    record, a zero byte, its checksum, zero bytes up to the length that the file has

It goes out in one write. A record never has a zero byte in it (they are JSON). One zero byte alone is a record that was
removed. A file without any was written by a store that renames.
"""

import zlib

from dibs.errors import StorageError

_ZERO = REMOVED = b"\0"


class Torn(StorageError):
    """Neither the old record nor the new one: it is being written, or its writer died with half of it on disk."""


def sealed(data: bytes, length: int) -> bytes:
    return b"%b\0%08x" % (data, zlib.crc32(data)) + _ZERO * (length - len(data) - 9)


def is_removed(raw: bytes) -> bool:
    return raw.startswith(REMOVED)


def record(raw: bytes) -> bytes:
    """Of a file that may have been written on a share, or may be anything else."""
    return unsealed(raw) if raw.startswith((b"{", _ZERO)) else raw


def unsealed(raw: bytes) -> bytes:
    """The record; nothing when there is none, or none any more."""
    data, zero, rest = raw.partition(_ZERO)
    if not zero or not data:
        return data
    if rest[:8] != b"%08x" % zlib.crc32(data):
        raise Torn("half written")
    return data
