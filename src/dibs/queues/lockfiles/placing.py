"""Put a whole file into a folder that others look at: it appears complete, and never in place of another."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from dibs.stores.syncing import sync

_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


def place(
    path: str, data: bytes, *, durable: bool = False, mtime: float | None = None, by_way_of: str | None = None
) -> bool:
    """False, and nothing done, when there is something of that name. Missing folders are made.
    It is written in the folder `by_way_of`, on the same file system, or else beside its place."""
    folder = os.path.dirname(path)
    with spare(by_way_of or folder, data, durable=durable, mtime=mtime) as written:
        placed = _name(written, path)
    if placed and durable:
        sync(folder)
    return placed


@contextmanager
def spare(folder: str, data: bytes, *, durable: bool, mtime: float | None = None, mode: int = 0o666) -> Iterator[str]:
    """A hidden file with this content, to be linked or renamed; whatever is left of it afterwards is removed."""
    path = f"{folder}/.dibs-{os.getpid()}-{os.urandom(6).hex()}.tmp"
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
    try:
        descriptor = os.open(path, flags, mode)
    except FileNotFoundError:
        os.makedirs(folder, exist_ok=True)
        descriptor = os.open(path, flags, mode)
    try:
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            if mode != 0o666:
                os.fchmod(descriptor, mode)
            if mtime is not None:
                os.utime(descriptor, (mtime, mtime))
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        yield path
    finally:
        with suppress(FileNotFoundError):
            os.unlink(path)


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
