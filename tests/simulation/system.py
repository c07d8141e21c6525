"""`os`, `fcntl` and `open` over the simulated disk: for code that makes its system calls itself."""

import errno
import fcntl as real_fcntl
import io
import os as real_os
import stat as modes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from .disk import FOLDER, Disk, File, split
from .world import LOST, REFUSED, STALE, VANISHED, Process, World


class Stat(NamedTuple):
    st_mode: int
    st_ino: int
    st_nlink: int
    st_size: int
    st_mtime: float
    st_ctime: float
    st_dev: int = 1

    @property
    def st_mtime_ns(self) -> int:
        return int(self.st_mtime * 1e9)


class Descriptor:
    __slots__ = ("file", "process")

    def __init__(self, file: File | None, process: Process | None) -> None:
        self.file = file
        self.process = process


class Entry(NamedTuple):
    name: str
    path: str
    folder: bool

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return self.folder

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return not self.folder


class Path:
    """`os.path`: what is pure is the real one's. As there, a question that fails is answered with False."""

    def __init__(self, disk: Disk, point: Callable[[str, str], None]) -> None:
        self._disk = disk
        self._point = point
        for name in ("abspath", "dirname", "basename", "join", "normpath"):
            setattr(self, name, getattr(real_os.path, name))

    def realpath(self, path: str) -> str:
        return real_os.path.normpath(path)

    def isdir(self, path: str) -> bool:
        return self._asked("isdir", path) and path.rstrip("/") in self._disk.folders

    def isfile(self, path: str) -> bool:
        folder, name = split(path)
        return self._asked("isfile", path) and isinstance(self._disk.folders.get(folder, {}).get(name), File)

    def exists(self, path: str) -> bool:
        return self.isdir(path) or self.isfile(path)

    def _asked(self, what: str, path: str) -> bool:
        try:
            self._point(what, path)
        except OSError:
            return False
        return True


class System:
    """Also stands for `fcntl`. Locks are those of open files: gone with a close, or with the process."""

    def __init__(self, world: World, disk: Disk) -> None:
        self._world = world
        self._disk = disk
        self._open: dict[int, Descriptor] = {}
        self._next = 100
        self.path = Path(disk, self._plain)
        for name in ("O_CREAT", "O_EXCL", "O_RDONLY", "O_RDWR", "O_WRONLY", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"):
            setattr(self, name, getattr(real_os, name))
        for name in ("DirEntry", "fsencode", "fsdecode"):
            setattr(self, name, getattr(real_os, name))
        for name in ("LOCK_EX", "LOCK_NB", "LOCK_UN"):
            setattr(self, name, getattr(real_fcntl, name))
        self.fspath, self.strerror = real_os.fspath, real_os.strerror
        self.urandom = world.rng.randbytes

    def getpid(self) -> int:
        return self._world.current.pid if self._world.current else 1

    # Files by descriptor

    def open(self, path: str, flags: int, mode: int = 0o777) -> int:
        self._plain("open", path)
        folder, name = split(path.rstrip("/"))
        file = self._disk.folders.get(folder, {}).get(name)
        if flags & real_os.O_CREAT:
            if file is not None:
                raise FileExistsError(errno.EEXIST, real_os.strerror(errno.EEXIST), path)
            self._disk.put(path, b"")
            file = self._disk.file(path)
        elif file is None:
            raise FileNotFoundError(errno.ENOENT, real_os.strerror(errno.ENOENT), path)
        self._next += 1
        self._open[self._next] = Descriptor(file if isinstance(file, File) else None, self._world.current)
        return self._next

    def close(self, descriptor: int) -> None:
        del self._open[descriptor]

    def write(self, descriptor: int, data: bytes) -> int:
        file = self._open[descriptor].file
        assert file is not None
        file.data += bytes(data)
        file.mtime = self._world.now
        return len(data)

    def utime(self, descriptor: int, times: tuple[float, float]) -> None:
        file = self._open[descriptor].file
        assert file is not None
        file.mtime = times[1]

    def fchmod(self, descriptor: int, mode: int) -> None:
        pass

    def fsync(self, descriptor: int) -> None:
        self._plain("fsync", str(descriptor))

    def fstat(self, descriptor: int) -> Stat:
        file = self._open[descriptor].file
        assert file is not None
        return _stat(file)

    def flock(self, descriptor: int, how: int) -> None:
        self._plain("flock", str(descriptor))
        mine = self._open[descriptor]
        assert mine.file is not None
        if how == real_fcntl.LOCK_UN:
            if mine.file.lock is mine:
                mine.file.lock = None
            return
        other: Any = mine.file.lock
        held = other in self._open.values() and other.process is not None and other.process.alive
        if other is not None and other is not mine and held:
            raise BlockingIOError(errno.EWOULDBLOCK, real_os.strerror(errno.EWOULDBLOCK))
        mine.file.lock = mine

    def lockers(self) -> list[Process]:
        """Who holds a lock."""
        held = [known for known in self._open.values() if known.file is not None and known.file.lock is known]
        return [known.process for known in held if known.process is not None]

    @contextmanager
    def open_file(self, file: str | int, mode: str = "r", buffering: int = -1, closefd: bool = True) -> Iterator[Any]:
        """The builtin `open`, for reading bytes."""
        if isinstance(file, int):
            found = self._open[file].file
            assert found is not None
        else:
            self._plain("read", file)
            found = self._disk.file(file)
        yield io.BytesIO(found.data)

    # Files by name

    def stat(self, path: str) -> Stat:
        self._plain("stat", path)
        folder = path.rstrip("/")
        if folder in self._disk.folders:
            now = self._disk.seen_mtime(folder, self._world.current)
            return Stat(modes.S_IFDIR | 0o755, 1, 2, 0, now, now)
        return _stat(self._disk.file(path))

    def lstat(self, path: str) -> Stat:
        return self.stat(path)

    def scandir(self, path: str) -> Any:
        spoiled = self._point("scandir", path)
        folder = path.rstrip("/")
        if folder not in self._disk.folders:
            raise FileNotFoundError(errno.ENOENT, real_os.strerror(errno.ENOENT), path)
        names = self._disk.listing(folder, self._world.current, stale=spoiled is STALE)
        entries = self._disk.folders[folder]
        return _scanned([Entry(name, f"{folder}/{name}", entries.get(name) is FOLDER) for name in names])

    def rename(self, source: str, target: str) -> None:
        again = FileNotFoundError(errno.ENOENT, real_os.strerror(errno.ENOENT), source)
        self._change("rename", f"{source} -> {target}", lambda: self._disk.rename(source, target), again)

    def link(self, source: str, target: str) -> None:
        again = FileExistsError(errno.EEXIST, real_os.strerror(errno.EEXIST), target)
        self._change("link", f"{source} -> {target}", lambda: self._disk.link(source, target), again)

    def unlink(self, path: str) -> None:
        again = FileNotFoundError(errno.ENOENT, real_os.strerror(errno.ENOENT), path)
        self._change("unlink", path, lambda: self._disk.unlink(path), again)

    def mkdir(self, path: str) -> None:
        self._plain("mkdir", path)
        if path in self._disk.folders:
            raise FileExistsError(errno.EEXIST, real_os.strerror(errno.EEXIST), path)
        if split(path)[0] not in self._disk.folders:
            raise FileNotFoundError(errno.ENOENT, real_os.strerror(errno.ENOENT), path)
        self._disk.mkdir(path)

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        self._plain("makedirs", path)
        self._disk.mkdir(path)

    def _change(self, what: str, where: str, act: Callable[[], None], again: OSError) -> None:
        spoiled = self._world.point(what, where)
        if spoiled is None or spoiled is STALE:
            act()
            return
        if spoiled is not REFUSED:
            act()
        self._spoil(spoiled)
        if spoiled is VANISHED:
            raise again
        assert spoiled in (LOST, REFUSED)
        raise OSError(errno.EIO, real_os.strerror(errno.EIO), where)

    def _plain(self, what: str, where: str) -> None:
        self._point(what, where)

    def _point(self, what: str, where: str) -> str | None:
        spoiled = self._world.point(what, where)
        if spoiled is not None and spoiled is not STALE:
            self._spoil(REFUSED)
            raise OSError(errno.EIO, real_os.strerror(errno.EIO), where)
        return spoiled

    def _spoil(self, spoiled: str) -> None:
        self._world.say(f"answer: {spoiled}")
        if self._world.current is not None:
            self._world.current.spoiled += 1


@contextmanager
def _scanned(entries: list[Entry]) -> Iterator[Iterator[Entry]]:
    yield iter(entries)


def _stat(file: File) -> Stat:
    return Stat(modes.S_IFREG | 0o644, file.number, file.nlink, len(file.data), file.mtime, file.ctime)
