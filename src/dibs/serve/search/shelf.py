"""Where an index is kept: in the user's cache folder, one for each queue, written by one process at a time.

It is used again only when it is of this version, of this queue, and whole: every file of an index ends in a checksum.
Anything else is thrown away, and the index is made again.
"""

import fcntl
import hashlib
import json
import os
import shutil
import struct
import zlib
from contextlib import suppress

from dibs.serve.search.index import Damaged, Index, version

_MARK = 1337  # the last number of a file, after the length of what holds its checksum
_TAIL = struct.Struct("<II")
_NO_TAIL = ("meta.json", ".managed.json", ".tantivy-meta.lock", ".tantivy-writer.lock")


def place_of(address: str) -> str | None:
    """The folder for the queue of this address; None where there is no cache folder."""
    root = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    if not os.path.isabs(root):
        return None
    return os.path.join(root, "dibs", f"search-{hashlib.sha256(address.encode()).hexdigest()[:16]}")


class Shelf:
    """`folder`: None keeps the index in memory, and so does a folder that another process writes."""

    def __init__(self, folder: str | None, address: str) -> None:
        self._folder = folder
        self._label = {"version": version(), "queue": address}
        self._lock: int | None = None
        self.held = folder is not None and self._take(folder)

    @property
    def _index(self) -> str:
        return os.path.join(self._folder or "", "index")

    def open(self) -> Index:
        """The index that is there, if it is ours and whole, or an empty one."""
        if not self.held:
            return Index(None)
        try:
            if self._fits():
                return Index(self._index)
        except Damaged:
            pass
        return self.anew()

    def anew(self) -> Index:
        """An empty one, whatever was there. In memory when the folder cannot be written."""
        if not self.held or self._folder is None:
            return Index(None)
        try:
            shutil.rmtree(self._index, ignore_errors=True)
            os.makedirs(self._index, mode=0o700)
            with open(self._label_path, "w", encoding="utf-8") as file:
                json.dump(self._label, file)
            return Index(self._index)
        except (OSError, Damaged):
            return Index(None)

    def give_up(self) -> None:
        """The folder cannot be used (a full disk, say): from now on in memory."""
        self.held = False

    def close(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @property
    def _label_path(self) -> str:
        return os.path.join(self._folder or "", "made.json")

    def _take(self, folder: str) -> bool:
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            self._lock = os.open(os.path.join(folder, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError:
            self.close()
            return False

    def _fits(self) -> bool:
        with suppress(OSError, ValueError), open(self._label_path, encoding="utf-8") as file:
            if json.load(file) != self._label:
                return False
            names = os.listdir(self._index)
            return "meta.json" in names and all(is_whole(os.path.join(self._index, name)) for name in names)
        return False


def is_whole(path: str) -> bool:
    """Whether a file of an index has the checksum that it says."""
    if os.path.basename(path) in _NO_TAIL:
        return True
    with open(path, "rb") as file:
        data = memoryview(file.read())
    if len(data) < _TAIL.size:
        return False
    length, mark = _TAIL.unpack(data[-_TAIL.size :])
    end = len(data) - _TAIL.size - length
    if mark != _MARK or end < 0:
        return False
    try:
        said = json.loads(bytes(data[end : -_TAIL.size]))
        return bool(said["crc"] == zlib.crc32(data[:end]))
    except (ValueError, KeyError, TypeError):
        return False
