"""Put a whole file into a folder that others look at: it appears complete, and never in place of another."""

import errno
import os
from contextlib import suppress

from dibs.stores.syncing import sync

_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


def place(path: str, data: bytes, *, durable: bool = False, mtime: float | None = None) -> bool:
    """False, and nothing done, when there is something of that name. Missing folders are made."""
    folder = os.path.dirname(path)
    spare = f"{folder}/.dibs-{os.getpid()}-{os.urandom(6).hex()}.tmp"
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
    try:
        descriptor = os.open(spare, flags, 0o666)
    except FileNotFoundError:
        os.makedirs(folder, exist_ok=True)
        descriptor = os.open(spare, flags, 0o666)
    try:
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            if mtime is not None:
                os.utime(descriptor, (mtime, mtime))
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        placed = _name(spare, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(spare)
    if placed and durable:
        sync(folder)
    return placed


def _name(spare: str, path: str) -> bool:
    try:
        os.link(spare, path)
    except FileExistsError:
        return os.stat(spare).st_nlink == 2  # then it is ours, only the answer was lost
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        except FileExistsError:
            return False
        os.rename(spare, path)
    return True
