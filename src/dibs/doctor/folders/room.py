"""Free space and inodes: a queue needs one of these for every task that it keeps."""

import errno
import os
from collections.abc import Iterator

from dibs.doctor.finding import Finding, Level
from dibs.doctor.folders.ground import Ground

FEW_BYTES = 100 << 20
FEW_FILES = 10_000
LEAST_BYTES = 8 << 20  # of which, and of files, the doctor needs some itself
LEAST_FILES = 2_000
MORE = "free some, and run the doctor again"
FULL = {"ENOSPC", "EDQUOT"}
_SAID = (*FULL, os.strerror(errno.ENOSPC), os.strerror(errno.EDQUOT))


def check(ground: Ground) -> Iterator[Finding]:
    found = os.statvfs(ground.folder)
    free, files = found.f_bavail * found.f_frsize, found.f_favail if found.f_files else None
    words = f"{_shown(free)} free" + ("" if files is None else f", {files:,} files")
    if (found.f_blocks and free < LEAST_BYTES) or (files is not None and files < LEAST_FILES):
        words = f"{words}: too little to try anything"
        yield Finding(check="room", tried="asked", happened=words, level=Level.BAD, remedy=MORE, passing=True)
    elif free < FEW_BYTES or (files is not None and files < FEW_FILES):
        remedy = "free some; a full disk stops pushes and completions until there is room again, and loses nothing"
        yield Finding(check="room", tried="asked", happened=words, level=Level.WARNING, remedy=remedy)
    else:
        yield Finding(check="room", tried="asked", happened=words)


def is_full(words: str) -> bool:
    """That is what the system says when there is no room: of the place itself it tells nothing."""
    return any(said in words for said in _SAID)


def _shown(size: int) -> str:
    for unit, bound in (("MB", 1 << 30), ("GB", 1 << 40), ("TB", 1 << 60)):
        if size < bound:
            return f"{size / (bound >> 10):,.1f} {unit}"
    return "very much"
