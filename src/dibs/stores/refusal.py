"""What a file system refuses, as one line that says what to do."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from dibs.errors import StorageError

_REMEDIES = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some of your quota",
    errno.EROFS: "mount it writable, or use another folder",
    errno.EACCES: "check the owner and mode of the folder",
    errno.EPERM: "check the owner and mode of the folder",
    errno.ENAMETOOLONG: "use a shorter name",
    errno.EEXIST: "something that is not a folder is in the way; name another place",
    errno.ENOTDIR: "something that is not a folder is in the way; name another place",
    errno.ENOENT: "the folder was deleted or moved; restore it, or open the queue anew",
}


def storage_error(error: OSError, path: str) -> StorageError:
    """What the file system said, as one line with a remedy."""
    remedy = _REMEDIES.get(error.errno or 0, "see the system's log")
    return StorageError(f"storage refused {path}: {error.strerror or error}; {remedy}")


@contextmanager
def refusals(path: str) -> Iterator[None]:
    """An OSError inside becomes a StorageError about `path`, or the file that it names: of a link or rename the target,
    since what was to get that name was made a moment ago."""
    try:
        yield
    except OSError as error:
        raise storage_error(error, os.fspath(error.filename2 or error.filename or path)) from error
