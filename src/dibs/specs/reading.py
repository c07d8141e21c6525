"""Files of a folder of specs, read without ever leaving the folder.

A symbolic link, a pipe or a device is not opened for reading: it is shown as broken. Only the beginning of a very
large file is read; frontmatter and first heading are there or nowhere.
"""

import os
import re
import stat as modes
from collections.abc import Sequence
from json import JSONEncoder

from dibs.errors import MissingExtra
from dibs.specs.badspec import BadSpec
from dibs.specs.cache import NO_STAMP, Entry, stamp_of
from dibs.specs.fields import values_of
from dibs.specs.ids import MAX_ID_BYTES, SUFFIX, fault_of
from dibs.specs.nodes import NOTHING, hot
from dibs.specs.repeats import Repeats

CHUNK = 1 << 16
READ_AT_MOST = 1 << 22
TOGETHER = 64  # files read before they are parsed: a processor is faster at one thing at a time
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_KIND, _REGULAR = 0o170000, 0o100000  # of a mode
_ordinary = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_.-]{{0,{MAX_ID_BYTES - 1}}}{re.escape(SUFFIX)}").fullmatch

_encode = JSONEncoder(separators=(",", ":")).encode


def read_entries(names: Sequence[str], folder: int, now: float) -> dict[str, Entry]:
    """The files of these names in an open folder, as they are after `now`; without those that are gone."""
    found: dict[str, Entry] = {}
    repeats = Repeats()
    for start in range(0, len(names), TOGETHER):
        some = names[start : start + TOGETHER]
        for name, content in zip(some, [_content(name, folder, now) for name in some], strict=True):
            if content is not None:
                stamp, data = content
                if isinstance(data, bytes):
                    quick = repeats.read(data)
                    found[name] = _entry(stamp, data) if quick is None else (stamp, *quick)
                else:
                    found[name] = _broken(stamp, None, data)
    return found


def _content(name: str, folder: int, now: float) -> tuple[bytes, bytes | str] | None:
    """Stamp and bytes of a file, or in place of these the reason why it cannot be read; None when it is gone."""
    if not _ordinary(name) and (fault := fault_of(name[: -len(SUFFIX)])):
        return NO_STAMP, f"its name {fault}; rename it"
    try:
        descriptor = os.open(name, _FLAGS, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        return _unopened(name, folder, now, error)
    try:
        stat = os.fstat(descriptor)  # before reading: a change meanwhile shows in the next stamp
        size = stat.st_size
        if stat.st_mode & _KIND == _REGULAR:
            data = os.read(descriptor, size + 1 if size < READ_AT_MOST else READ_AT_MOST)
            return stamp_of(stat, now), data if len(data) == size else data + _rest(descriptor, len(data))
        return None if modes.S_ISDIR(stat.st_mode) else (NO_STAMP, "it is not a regular file")
    except OSError as error:
        return NO_STAMP, f"it cannot be read: {error.strerror}"
    finally:
        os.close(descriptor)


def _rest(descriptor: int, total: int) -> bytes:
    """What follows as far as it matters; the file may have grown or shrunk since its size was asked."""
    parts = []
    while total < READ_AT_MOST and (more := os.read(descriptor, CHUNK)):
        parts.append(more)
        total += len(more)
    return b"".join(parts)


def _entry(stamp: bytes, data: bytes) -> Entry:
    try:
        values = values_of(data)
    except BadSpec as error:
        return _broken(stamp, error.line, error.reason)
    except MissingExtra as error:
        return _broken(NO_STAMP, None, str(error))
    return stamp, hot(values), _encode(values)


def parsed(data: bytes) -> Entry:
    """What is kept of a spec that is no file of a folder."""
    return _entry(NO_STAMP, data)


def broken(line: int | None, reason: str) -> Entry:
    return _broken(NO_STAMP, line, reason)


def _unopened(name: str, folder: int, now: float, error: OSError) -> tuple[bytes, str] | None:
    try:
        stat = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if modes.S_ISLNK(stat.st_mode):
            return stamp_of(stat, now), _about_link(os.readlink(name, dir_fd=folder))
    except FileNotFoundError:
        return None
    except OSError:
        pass
    return NO_STAMP, f"it cannot be opened: {error.strerror}"


def _about_link(target: str) -> str:
    out = os.path.isabs(target) or os.path.normpath(target).startswith("..")
    shown = target.encode("utf-8", "backslashreplace").decode()
    if out:
        return f"it is a symbolic link that leads out of the folder, to {shown}; put the file itself here"
    return f"it is a symbolic link to {shown}; a spec is one file under one name"


def _broken(stamp: bytes, line: int | None, reason: str) -> Entry:
    return stamp, NOTHING, _encode({"line": line, "reason": reason})
