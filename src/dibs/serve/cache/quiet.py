"""Whether anything has changed in some folders, or in the files right in them: one question to the kernel.

The kernel notes a change before the call that makes it returns, and the question is asked anew each time. So `still` is
no older than a look at all those folders and files would be. It cannot be had everywhere: not on other systems than
Linux, and not on file systems whose files change behind the kernel's back (overlays, network, FUSE).
"""

import ctypes
import os
from contextlib import suppress

from dibs.mounts import kind_of

TRUSTED = ("ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "tmpfs", "zfs", "bcachefs")
_NONBLOCK_CLOEXEC = os.O_NONBLOCK | os.O_CLOEXEC
# modify, attrib, moved from, moved to, create, delete, delete self, move self
_CHANGES = 0x2 | 0x4 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800
_ONLY_FOLDERS = 0x1000000


class Quiet:
    """Folders below `root`. OSError when the system has no more watches to give, or none at all."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._libc = ctypes.CDLL(None, use_errno=True)
        if not hasattr(self._libc, "inotify_init1"):
            raise OSError("this system has no inotify")
        self._place = _place(root)
        self._events: int = self._libc.inotify_init1(_NONBLOCK_CLOEXEC)
        if self._events < 0:
            raise OSError(ctypes.get_errno(), "no file events")
        self.folders: set[str] = set()
        try:
            self.watch(root)  # so that it is seen when a folder in it is replaced
        except OSError:
            self.close()
            raise

    def watch(self, folder: str) -> None:
        if folder in self.folders:
            return
        if self._libc.inotify_add_watch(self._events, os.fsencode(folder), _CHANGES | _ONLY_FOLDERS) < 0:
            raise OSError(ctypes.get_errno(), "no file events", folder)
        self.folders.add(folder)

    def still(self) -> bool:
        """True while nothing has changed since each folder was watched. Once it is False this object is of no use."""
        with suppress(BlockingIOError):
            os.read(self._events, 4096)
            return False
        return _place(self._root) == self._place

    def close(self) -> None:
        os.close(self._events)


def trusted(path: str) -> bool:
    """Whether the kernel hears of every change there."""
    return kind_of(path) in TRUSTED


def _place(root: str) -> tuple[int, int]:
    """Which folder a path leads to: another may have been put in its place, anywhere above."""
    stat = os.stat(root)
    return stat.st_dev, stat.st_ino
