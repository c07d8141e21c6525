"""Look whether a file is there, and do not take a client's memory for an answer.

A client of a share remembers for some seconds that a name was missing. Opening a folder makes an NFS client ask whether
the folder has changed; `lstat` is what an SMB client never answers out of such a memory. On a disk both cost next to
nothing.
"""

import errno
import os

NOT_THERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP})


def stat_anew(path: str, root: str) -> os.stat_result | None:
    """Of the file at `path`, below `root`; None when there is none. Raises OSError when it cannot be known."""
    folder = root
    try:
        _ask(folder)
        for part in path[len(root) + 1 :].split("/")[:-1]:
            folder = f"{folder}/{part}"
            _ask(folder)
        os.lstat(path)
        return os.stat(path)
    except OSError as error:
        if error.errno in NOT_THERE:
            return None
        raise


def _ask(folder: str) -> None:
    os.close(os.open(folder, os.O_RDONLY))
