"""One LMDB environment for each folder and process, shared by all that use it, with a map that grows by itself.

LMDB wants an environment opened once in a process and never used after a fork, and its map changed only while nobody
in the process has a transaction. So environments are counted here, a forked child opens its own, and transactions pass
a gate that closes while the map grows, and while a child is forked: one that was made in the middle of another thread's
transaction could never close what it inherited.
"""

import os
import threading
from typing import Any

from dibs.errors import DibsError, FormatError, MissingExtra, StorageError
from dibs.stores.refusal import refusals

try:
    import lmdb
except ImportError:
    raise MissingExtra("lmdb: needs py-lmdb, which is not installed; pip install 'dibs[lmdb]'") from None

LmdbError = lmdb.Error

FIRST_MAP = 1 << 30  # address space, not disk: the file is as large as what is in it
READERS = 1024
_MARGIN = 16 << 20
_DATA = "data.mdb"


class Environment:
    """Safe for threads. Get one with `use`."""

    def __init__(self, folder: str, *, sync: bool, map_bytes: int) -> None:
        self.folder = folder
        self.sync = sync
        self.users = 0
        self._gate = threading.Condition()
        self._inside: list[int] = []  # threads, as often as they have transactions
        self._shut = False
        self._env = _open(folder, sync, map_bytes)
        self._env.reader_check()

    def enter(self, *, write: bool) -> Any:
        """A transaction; `leave` it, whatever becomes of it."""
        while True:
            with self._gate:
                self._gate.wait_for(lambda: not self._shut)
                self._inside.append(threading.get_ident())
            try:
                return self._env.begin(write=write)
            except lmdb.MapResizedError:  # another process has made it grow
                self.leave()
                self._resize(0)
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
        with self._gate:
            self._inside.remove(threading.get_ident())
            self._gate.notify_all()

    def room(self) -> int:
        """Bytes left in the map."""
        info = self._env.info()
        page: int = self._env.stat()["psize"]
        left: int = info["map_size"] - (info["last_pgno"] + 1) * page
        return left

    def grow(self, bytes_wanted: int) -> None:
        """Only outside of this thread's own transactions."""
        size: int = self._env.info()["map_size"]
        self._resize(max(size * 2, size + bytes_wanted * 4 + _MARGIN))

    def _resize(self, size: int) -> None:
        self.shut()
        try:
            self._env.set_mapsize(size)
        finally:
            self.open()

    def shut(self) -> None:
        """Nobody begins a transaction from here on; returns when no other thread has one any more."""
        me = threading.get_ident()
        with self._gate:
            self._gate.wait_for(lambda: not self._shut)
            self._shut = True
            self._gate.wait_for(lambda: all(thread == me for thread in self._inside))

    def open(self) -> None:
        with self._gate:
            self._shut = False
            self._gate.notify_all()

    def close(self) -> None:
        self._env.close()


_open_ones: dict[str, Environment] = {}
_inherited: dict[str, Environment] = {}  # of a parent process: not to be used, and closed before opened again
_locks = [threading.Lock()]


def use(folder: str, *, sync: bool, map_bytes: int = FIRST_MAP) -> Environment:
    """Opened, or shared with others of this process; `drop` it when done."""
    name = os.path.realpath(folder)
    with _locks[0]:
        env = _open_ones.get(name)
        if env is None:
            parents = _inherited.pop(name, None)
            if parents is not None:
                parents.close()  # in a child this gives up the map and nothing else
            env = _open_ones[name] = Environment(name, sync=sync, map_bytes=map_bytes)
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
    _locks[0] = threading.Lock()
    _inherited.update(_open_ones)
    _open_ones.clear()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_forked)


def _open(folder: str, sync: bool, map_bytes: int) -> Any:
    with refusals(folder):
        os.makedirs(folder, exist_ok=True)
        size = map_bytes
        if is_there(folder):
            size = max(size, os.path.getsize(os.path.join(folder, _DATA)) + _MARGIN)
    try:
        return lmdb.open(folder, map_size=size, sync=sync, max_readers=READERS, readahead=False)
    except lmdb.Error as error:
        raise refusal(error, folder) from error


def refusal(error: BaseException | None, folder: str) -> DibsError:
    """What LMDB says, as one line with a remedy."""
    words = " ".join(str(error).split())
    if isinstance(error, lmdb.InvalidError | lmdb.VersionMismatchError | lmdb.CorruptedError):
        return FormatError(f"{folder} is no LMDB environment, or is damaged ({words}); use another folder")
    return StorageError(f"LMDB refused {folder}: {words}; check space, owner and mode of the folder")
