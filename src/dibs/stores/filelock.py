"""Lock the file that has a name (flock), for one step.

A process stopped (SIGSTOP) within the few microseconds of its lock holds up this one name until it goes on or dies;
others get Busy.
"""

import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dibs.clock import Clock
from dibs.errors import StorageError
from dibs.stores.store import Changed

PATIENCE = 2.0
PAUSE = 0.001
_HELD = (errno.EAGAIN, errno.EACCES)


class Busy(StorageError):
    """Another process holds the lock of a name and does not go on."""


def has_name(descriptor: int, path: str) -> bool:
    try:
        named, opened = os.stat(path), os.fstat(descriptor)
    except FileNotFoundError:
        return False
    return (named.st_ino, named.st_dev) == (opened.st_ino, opened.st_dev)


@contextmanager
def locked(
    path: str, clock: Clock, patience: float = PATIENCE, check: Callable[[int, str], bool] = has_name
) -> Iterator[int]:
    """The file that has this name now, open for reading and writing. Changed if there is none."""
    end = clock.boottime() + patience
    while True:
        try:
            descriptor = os.open(path, os.O_RDWR)  # NFS gives exclusive locks to writers only
        except (FileNotFoundError, NotADirectoryError):
            raise Changed(path) from None
        try:
            if _has_lock(descriptor, clock):
                try:
                    if check(descriptor, path):
                        yield descriptor
                        return
                finally:
                    fcntl.flock(descriptor, fcntl.LOCK_UN)  # a fork meanwhile may keep a copy of the descriptor
        finally:
            os.close(descriptor)
        if clock.boottime() > end:
            raise Busy(f"storage busy: another process holds the lock of {path} and does not go on; is it stopped?")


def _has_lock(descriptor: int, clock: Clock) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in _HELD:
            raise
        clock.sleep(PAUSE)
        return False
    return True
