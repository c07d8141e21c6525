"""One LMDB environment for each folder and process, shared by all that use it, in a file that grows by itself.

LMDB wants an environment opened once in a process and never used after a fork, and its map changed only while nobody
in the process has a transaction. So environments are counted here, a forked child opens its own, and transactions pass
a gate that closes while the map grows, and while a child is forked: one that was made in the middle of another thread's
transaction could never close what it inherited.

Without sync, pages are written through the map, which spares most system calls; with it by system calls, which cost
less than to have the map clean again after each sync. A map over a hole of a full disk would kill the process that
writes there, so the file is allocated as long as its map, under a lock file: no process ever has a longer map than the
file, and none makes the file shorter.
"""

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any

from dibs.errors import DibsError, FormatError, MissingExtra, StorageError
from dibs.queues.lmdb.settings import FIRST_BYTES
from dibs.stores.refusal import refusals
from dibs.stores.syncing import sync as synced

try:
    import lmdb
except ImportError:
    raise MissingExtra("lmdb: needs py-lmdb, which is not installed; pip install 'dibs[lmdb]'") from None

LmdbError = lmdb.Error
MapFull = lmdb.MapFullError

READERS = 1024
_LARGEST_STEP = 256 << 20
_PAGE = 4096
_EMPTY = 2 * os.sysconf("SC_PAGE_SIZE")  # LMDB's own pages, before the file is allocated
_DATA = "data.mdb"
_GROWING = "grow.lock"
OWN = (_DATA, "lock.mdb", _GROWING)  # the files of an environment


class Environment:
    """Safe for threads. Get one with `use`."""

    def __init__(self, folder: str, *, sync: bool, first_bytes: int) -> None:
        self.folder = folder
        self.sync = sync
        self.users = 0
        self._lock = threading.Lock()
        self._moved = threading.Condition(self._lock)
        self._inside: list[int] = []  # threads, as often as they have transactions
        self._shut = False  # read after `_inside` is changed, and changed before that is read: no lock is needed
        with _growing(folder):
            size = _length(folder)
            new = size <= _EMPTY  # or whoever made it died
            self.size = _whole(first_bytes) if new else size
            try:
                self._env = lmdb.open(
                    folder,
                    map_size=self.size,
                    sync=sync,
                    metasync=False,
                    writemap=not sync,
                    max_readers=READERS,
                    readahead=False,
                )
            except lmdb.Error as error:
                raise refusal(error, folder) from error
            try:
                _allocate(folder, self.size)
                if sync and new:
                    synced(folder)
                    synced(os.path.dirname(folder))
            except BaseException:
                self._env.close()
                raise
        self._env.reader_check()

    def enter(self, *, write: bool) -> Any:
        """A transaction; `leave` it, whatever becomes of it."""
        while True:
            self._inside.append(get_ident())
            while self._shut:
                self.leave()
                self._wait()
                self._inside.append(get_ident())
            try:
                return self._env.begin(write=write)
            except lmdb.MapResizedError:  # another process has made it grow
                self.leave()
                self.grow(0)
            except lmdb.ReadersFullError:
                self.leave()
                if not self._env.reader_check():
                    raise StorageError(
                        f"more than {READERS} readers at once in {self.folder}; use fewer processes and threads"
                    ) from None
            except BaseException:
                self.leave()
                raise

    def leave(self) -> None:
        self._inside.remove(get_ident())
        if self._shut:
            with self._lock:
                self._moved.notify_all()

    def _wait(self) -> None:
        with self._lock:
            while self._shut:
                self._moved.wait()

    def grow(self, bytes_wanted: int) -> None:
        """Make room for so much, if nobody has meanwhile. Only outside of this thread's own transactions."""
        if bytes_wanted and self._env.reader_check():
            return  # who died while it looked kept old pages from being used again: there may be room now
        seen = self.size
        self.shut()
        try:
            with _growing(self.folder):
                size = _length(self.folder)
                if size == seen and bytes_wanted:
                    size = _whole(seen + max(bytes_wanted, min(seen, _LARGEST_STEP)))
                    _allocate(self.folder, size)
                self._env.set_mapsize(size)
                self.size = size
        finally:
            self.open()

    def flush(self) -> None:
        """What was committed survives a power cut when this returns."""
        self._env.sync(True)

    @property
    def last(self) -> int:
        """The number of the last transaction, of whatever process. Takes no lock and begins nothing."""
        number: int = self._env.info()["last_txnid"]
        return number

    def shut(self) -> None:
        """Nobody begins a transaction from here on; returns when no other thread has one any more."""
        me = get_ident()
        with self._lock:
            while self._shut:
                self._moved.wait()
            self._shut = True
            while any(thread != me for thread in tuple(self._inside)):
                self._moved.wait()

    def open(self) -> None:
        with self._lock:
            self._shut = False
            self._moved.notify_all()

    def close(self) -> None:
        self._env.close()


_open_ones: dict[str, Environment] = {}
_inherited: dict[str, Environment] = {}  # of a parent process: not to be used, and closed before opened again
_locks = [threading.Lock()]
forks = [0]  # changes in a forked child: asking the system for the process's number costs as much as a whole step


def use(folder: str, *, sync: bool, first_bytes: int = FIRST_BYTES) -> Environment:
    """Opened, or shared with others of this process; `drop` it when done."""
    name = os.path.realpath(folder)
    with _locks[0]:
        env = _open_ones.get(name)
        if env is None:
            parents = _inherited.pop(name, None)
            if parents is not None:
                parents.close()  # in a child this gives up the map and nothing else
            env = _open_ones[name] = Environment(name, sync=sync, first_bytes=first_bytes)
        env.users += 1
        return env


def drop(env: Environment) -> None:
    with _locks[0]:
        env.users -= 1
        if env.users == 0 and _open_ones.get(env.folder) is env:
            del _open_ones[env.folder]
            env.close()


def is_there(folder: str) -> bool:
    return os.path.exists(os.path.join(folder, _DATA))


def _before_fork() -> None:
    _locks[0].acquire()
    for env in _open_ones.values():
        env.shut()


def _after_fork() -> None:
    for env in _open_ones.values():
        env.open()
    _locks[0].release()


def _forked() -> None:
    forks[0] += 1
    _locks[0] = threading.Lock()
    _inherited.update(_open_ones)
    _open_ones.clear()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_forked)


@contextmanager
def _growing(folder: str) -> Iterator[None]:
    """One process at a time changes the length of the file."""
    with refusals(folder):
        os.makedirs(folder, exist_ok=True)
        lock = os.open(os.path.join(folder, _GROWING), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        with refusals(folder):
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _whole(size: int) -> int:
    return -(-size // _PAGE) * _PAGE


def _length(folder: str) -> int:
    """0 when it is not there."""
    try:
        return os.stat(os.path.join(folder, _DATA)).st_size
    except FileNotFoundError:
        return 0


def _allocate(folder: str, size: int) -> None:
    """Have the file so long, and all of it on the disk."""
    path = os.path.join(folder, _DATA)
    with refusals(path):
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            known = os.fstat(file)
            if known.st_size < size:
                os.posix_fallocate(file, known.st_size, size - known.st_size)
            elif known.st_blocks * 512 < size:  # new, or whoever made it died
                os.posix_fallocate(file, 0, size)
        finally:
            os.close(file)


def refusal(error: BaseException | None, folder: str) -> DibsError:
    """What LMDB says, as one line with a remedy."""
    words = " ".join(str(error).split())
    if isinstance(error, lmdb.InvalidError | lmdb.VersionMismatchError | lmdb.CorruptedError):
        return FormatError(f"{folder} is no LMDB environment, or is damaged ({words}); use another folder")
    return StorageError(f"LMDB refused {folder}: {words}; check space, owner and mode of the folder")
