"""The system calls that a file queue is made of, and nothing else: the seam at which a simulation enters.

What is atomic: `rename` (one winner for one source), `publish` and `mark` (create or refuse). `listdir` is a hint.
"""

import errno
import os
from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol, TypeVar

from dibs.errors import BadInput, StorageError


class Fs(Protocol):
    def rename(self, source: str, target: str, /) -> None: ...

    def listdir(self, path: str, /) -> list[str]: ...

    def read(self, path: str, /) -> bytes:
        """BadInput when there is something, but no file that can be read."""
        ...

    def write(self, path: str, data: bytes, /, *, sync: bool = False) -> None:
        """Create or overwrite; not atomic: for files nobody else looks at yet."""
        ...

    def publish(self, path: str, data: bytes, scratch: str, /) -> bool:
        """Create durably and whole, or return False because it is there already."""
        ...

    def mark(self, path: str, data: bytes, /) -> bool:
        """Create, or return False because it is there already. Others may see it empty, and so it may stay."""
        ...

    def unlink(self, path: str, /) -> None: ...

    def mkdir(self, path: str, /) -> None:
        """With parents; no error when it is there."""
        ...

    def rmdir(self, path: str, /) -> None: ...

    def exists(self, path: str, /) -> bool:
        """Raises when it cannot be known."""
        ...

    def times(self, path: str, /) -> tuple[float, float]:
        """(mtime, ctime): last written, last renamed; by the file server's clock."""
        ...

    def server_time(self, scratch: str, /) -> float: ...

    def sync_folder(self, path: str, /) -> None: ...

    def sync_all(self, path: str, /) -> None:
        """Everything written so far to the file system of `path` is on disk."""
        ...


_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK  # a FIFO in the way must not hang us


class LocalFs:
    """The real thing."""

    rename = staticmethod(os.rename)
    listdir = staticmethod(os.listdir)
    unlink = staticmethod(os.unlink)
    rmdir = staticmethod(os.rmdir)

    def read(self, path: str) -> bytes:
        try:
            fd = os.open(path, _READ)
            try:
                data = os.read(fd, 8192)
                if len(data) < 8192:
                    return data
                parts = [data]
                while data := os.read(fd, 1 << 20):
                    parts.append(data)
                return b"".join(parts)
            finally:
                os.close(fd)
        except OSError as error:
            if error.errno in (errno.EISDIR, errno.ELOOP, errno.ENXIO, errno.EAGAIN):
                raise BadInput(f"cannot be read: {error.strerror}") from None
            raise

    def write(self, path: str, data: bytes, *, sync: bool = False) -> None:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(fd, view) :]
            if sync:
                os.fsync(fd)
        finally:
            os.close(fd)

    def publish(self, path: str, data: bytes, scratch: str) -> bool:
        self.write(scratch, data, sync=True)
        try:
            os.link(scratch, path)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK):
                raise
            if os.path.exists(path):
                return False
            os.rename(scratch, path)
            return True
        finally:
            if os.path.exists(scratch):
                os.unlink(scratch)
        return True

    def mark(self, path: str, data: bytes) -> bool:
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except FileExistsError:
            return False
        except PermissionError:
            if self.exists(path):  # so some file systems tell the losers
                return False
            raise
        try:
            os.write(fd, data)
        except OSError:
            pass  # the disk is full: that it is there is enough
        finally:
            os.close(fd)
        return True

    def mkdir(self, path: str) -> None:
        os.makedirs(path, exist_ok=True)

    def exists(self, path: str) -> bool:
        try:
            os.stat(path)
            return True
        except (FileNotFoundError, NotADirectoryError):
            return False

    def times(self, path: str) -> tuple[float, float]:
        found = os.stat(path)
        return found.st_mtime, found.st_ctime

    def server_time(self, scratch: str) -> float:
        fd = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            os.utime(fd)
            return os.fstat(fd).st_mtime
        finally:
            os.close(fd)

    def sync_folder(self, path: str) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems have no such thing
                raise
        finally:
            os.close(fd)

    def sync_all(self, path: str) -> None:
        import ctypes  # slow to import, and only batches need it

        syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
        if syncfs is None:
            os.sync()
            return
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            if syncfs(fd) != 0:
                code = ctypes.get_errno()
                raise OSError(code, os.strerror(code), path)
        finally:
            os.close(fd)


_REMEDIES = {
    errno.ENOSPC: "the disk is full; free some space and try again",
    errno.EDQUOT: "the disk quota is used up; free some space and try again",
    errno.EROFS: "the file system is read-only; remount it writable",
    errno.EACCES: "no permission; check who owns the folder",
    errno.EPERM: "no permission; check who owns the folder",
    errno.ENOENT: "the queue's folder is gone; restore it, or push to create a new queue",
    errno.ENAMETOOLONG: "the path is too long for this file system; use a shorter folder",
    errno.ENOTDIR: "something that is not a folder is in the way",
    errno.ESTALE: "the network file system lost the folder; mount it again",
}


def storage_error(error: OSError, what: str) -> StorageError:
    """One line: what was tried, where, and what to do."""
    reason = error.strerror or type(error).__name__
    where = f" ({error.filename})" if error.filename else ""
    remedy = _REMEDIES.get(error.errno or 0, "look at the disk and its mount")
    return StorageError(f"{what}: {reason}{where}; {remedy}")


Method = TypeVar("Method", bound=Callable[..., Any])


def told(what: str) -> Callable[[Method], Method]:
    """Decorates a method of a queue: what the system refuses is told as a StorageError."""

    def decorate(method: Method) -> Method:
        @wraps(method)
        def inner(self: Any, *args: Any, **options: Any) -> Any:
            try:
                return method(self, *args, **options)
            except OSError as error:
                raise storage_error(error, f"cannot {what} {self.root}") from error

        return inner  # type: ignore[return-value]

    return decorate
