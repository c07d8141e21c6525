"""What was read of a folder of specs, kept in one file so that the next look only has to stat them.

It is only a cache. An entry counts as long as its file has the same modification and change time, size and inode.
A file that changed so lately that another change could leave the same times has an empty stamp, and is read again.
A cache that is missing, damaged, of another version, of another folder, or cannot be written is none: `load` says
None and `save` False, and everything is read. Nothing in it is ever run or taken for a path.

Layout: one line of JSON (version, folder, sizes, checksum), the stamps (four 64-bit numbers a file), the names (a
line each), the columns of `nodes` as JSON, and a line of JSON for each file's values. Each is parsed when asked for.
"""

import json
import os
from array import array
from binascii import crc32
from collections.abc import Mapping, Sequence
from contextlib import suppress
from operator import attrgetter
from struct import Struct, error
from typing import Any

from dibs.specs.nodes import Hot

VERSION = 1
STAMP_BYTES = 32
STAMP = attrgetter("st_mtime_ns", "st_size", "st_ino", "st_ctime_ns")
NO_STAMP = bytes(STAMP_BYTES)
COARSE_SECONDS = 2.5  # for a file system that keeps whole seconds
FINE_SECONDS = 0.1
_pack = Struct("=4q").pack
_MASK = (1 << 64) - 1


Entry = tuple[bytes, Hot, str]
"""What is kept of one file: its stamp, its part of the columns, its values (or line and reason) as JSON."""


class Snapshot:
    """A folder as it was read: one place for each file in every column. Parsed as far as it is used."""

    __slots__ = ("_hot", "_lines", "_names", "_names_text", "stamps")

    def __init__(self, stamps: bytes, names: bytes, hot: bytes, lines: bytes) -> None:
        self.stamps = stamps
        self._names_text: bytes | None = names
        self._names: list[str] = []
        self._hot: Columns | bytes = hot
        self._lines: list[str] | bytes = lines

    @classmethod
    def of(cls, entries: dict[str, Entry]) -> "Snapshot":
        """Of files by name."""
        found = entries.values()
        made = cls(b"".join([entry[0] for entry in found]), b"", b"", b"")
        made._names_text, made._names = None, list(entries)
        made._lines = [entry[2] for entry in found]
        codes, priorities, waits, times = zip(*[entry[1] for entry in found], strict=True) if found else ((),) * 4
        made._hot = ("".join(codes), priorities, waits, times)
        return made

    def replaced(self, entries: Mapping[int, Entry]) -> "Snapshot":
        """The same files, with these entries at their places."""
        stamps, lines = bytearray(self.stamps), list(self.lines)
        codes, priorities = list(self.hot[0]), list(self.hot[1])
        waits, times = list(self.hot[2]), list(self.hot[3])
        for place, (stamp, hot, line) in entries.items():
            stamps[place * STAMP_BYTES : (place + 1) * STAMP_BYTES] = stamp
            codes[place], priorities[place], waits[place], times[place] = hot
            lines[place] = line
        made = Snapshot(bytes(stamps), b"", b"", b"")
        made._names_text, made._names, made._lines = None, self.names, lines
        made._hot = ("".join(codes), priorities, waits, times)
        return made

    def __len__(self) -> int:
        return len(self.stamps) // STAMP_BYTES

    def has(self, names: list[str]) -> bool:
        """Whether it is of these files, in this order."""
        if self._names_text is None:
            return names == self._names
        return _text_of(names) == self._names_text

    @property
    def names(self) -> list[str]:
        if self._names_text is not None:
            self._names = os.fsdecode(self._names_text).split("\n")
            self._names_text = None
        return self._names

    @property
    def hot(self) -> "Columns":
        """Codes, priorities, dependencies and times: the columns of `nodes.Hot`."""
        if isinstance(self._hot, bytes):
            self._hot = tuple(json.loads(self._hot))
        return self._hot

    @property
    def lines(self) -> list[str]:
        """The values of each file as JSON."""
        if isinstance(self._lines, bytes):
            self._lines = self._lines.decode("ascii").split("\n")
        return self._lines

    def stamp(self, place: int) -> bytes:
        return stamp_at(self.stamps, place)


Columns = tuple[Sequence[str], Sequence[int], Sequence[str], Sequence[float]]


def stamp_at(stamps: bytes, place: int) -> bytes:
    return stamps[place * STAMP_BYTES : (place + 1) * STAMP_BYTES]


def stamps_of(numbers: Sequence[int]) -> bytes:
    """The stamps of any number of files: modification time, size, inode and change time of each."""
    try:
        return array("q", numbers).tobytes()
    except OverflowError:
        return array("Q", [number & _MASK for number in numbers]).tobytes()


def stamp_of(stat: os.stat_result, now: float) -> bytes:
    """The stamp of one file that is read at `now`, or NO_STAMP when it changed too lately to be trusted."""
    changed = stat.st_ctime
    if changed > now - COARSE_SECONDS and (stat.st_ctime_ns % 1_000_000 == 0 or changed > now - FINE_SECONDS):
        return NO_STAMP
    try:
        return _pack(*STAMP(stat))
    except error:
        return stamps_of(STAMP(stat))


def place_of(folder: str) -> str | None:
    """Where the cache of `folder` is: in the user's cache folder, so that no repository can bring one along."""
    root = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    if not os.path.isabs(root):
        return None
    return os.path.join(root, "dibs", f"specs-{crc32(os.fsencode(os.path.realpath(folder))):08x}")


def load(path: str, folder: str) -> Snapshot | None:
    try:
        with open(path, "rb", buffering=0) as file:
            data = file.read()
        end = data.index(b"\n") + 1
        head = json.loads(data[:end])
        if (head["version"], head["folder"], head["crc"]) != (VERSION, _named(folder), crc32(memoryview(data)[end:])):
            return None
        parts = []
        for size in head["sizes"]:
            parts.append(data[end : end + size])
            end += size
        return Snapshot(*parts) if end == len(data) else None
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def save(path: str, folder: str, snapshot: Snapshot) -> bool:
    """Atomic: a reader sees the old cache or the new one. False when it could not be written."""
    names = _text_of(snapshot.names)
    if names.count(b"\n") >= len(snapshot.names):
        return False  # a name with a line break in it: somebody plays tricks, and reading is always right
    parts = [snapshot.stamps, names, _compact(snapshot.hot), "\n".join(snapshot.lines).encode("ascii")]
    crc = 0
    for part in parts:
        crc = crc32(part, crc)
    head = {"version": VERSION, "folder": _named(folder), "sizes": [len(part) for part in parts], "crc": crc}
    spare = f"{path}.{os.getpid()}.tmp"
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with suppress(FileNotFoundError):
            os.unlink(spare)
        descriptor = os.open(spare, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(descriptor, "wb") as file:
            file.writelines([_compact(head), b"\n", *parts])
        os.replace(spare, path)
    except (OSError, ValueError):
        with suppress(OSError):
            os.unlink(spare)
        return False
    return True


def _text_of(names: list[str]) -> bytes:
    return os.fsencode("\n".join(names))


def _named(folder: str) -> str:
    """A folder for sure: the same path on another disk is another one."""
    stat = os.stat(folder)
    return f"{os.path.realpath(folder)} {stat.st_dev}"


def _compact(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode("ascii")
