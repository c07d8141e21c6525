"""A store of files on a share (NFS, SMB): as `files`, but a record is written over where it stands, under its lock.

A client there remembers for seconds which file has a name, and cannot put a file in the place of one that is open
without taking the name away for a moment (NFS), or at all (SMB). So a name keeps its file for as long as the record
lives; a lock makes what is read new; and whoever removes a record blanks it first, so that one who has the old file in
mind finds nothing in it:

create   an empty file by O_EXCL; whoever has its lock, and finds it empty still, fills it
replace  lock, compare, write over it with one write (see `sealed`)
delete   lock, blank, unlink

On SMB a lock keeps readers out too: they ask again. All who use a folder must come through a share: a process on the
server that works on the disk itself renames, as `files` does.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from io import FileIO
from itertools import count

from dibs.clock import SYSTEM, Clock
from dibs.errors import StorageError
from dibs.mounts import on_share
from dibs.stores.anew import stat_anew
from dibs.stores.filelock import PATIENCE, PAUSE, locked
from dibs.stores.files import HOLLOW_SECONDS, FileStore, Locked, left_at, version_of
from dibs.stores.refusal import refusals, storage_error
from dibs.stores.sealed import REMOVED, Torn, is_removed, sealed, unsealed
from dibs.stores.store import Changed, Exists

SHARED_PATIENCE = 10.0
LEAST_TRIES = 5
FORGOTTEN_SECONDS = 120.0  # longer than a client remembers a name
_PASSING = (errno.ESTALE, errno.EACCES, errno.EINVAL)  # what a client answers while another host changes the file


def file_store(root: str, *, clock: Clock = SYSTEM, sync: bool = False) -> FileStore:
    """The kind of store that the place of `root` needs."""
    return (SharedFileStore if on_share(root) else FileStore)(root, clock=clock, sync=sync)


class SharedFileStore(FileStore):
    in_place = True

    def read(self, path: str) -> bytes:
        end = self._clock.boottime() + PATIENCE
        for tries in count():
            try:
                with _opened(path) as file:
                    return unsealed(file.read())
            except (FileNotFoundError, NotADirectoryError):
                if self._is_missing(path):
                    return b""
                problem = StorageError(f"{path} comes and goes; look at the mount and the server")
            except Torn as torn:
                problem = StorageError(f"damaged: {path} is {torn}; remove it if nobody works on its task")
            except OSError as error:
                if error.errno not in _PASSING:
                    raise storage_error(error, path) from error
                problem = storage_error(error, path)
            if tries >= LEAST_TRIES and self._clock.boottime() > end:  # who slept in between has not tried for long
                raise problem
            self._clock.sleep(PAUSE)
        raise AssertionError

    def create(self, key: str, data: bytes) -> str:
        path = self._path(key)
        with refusals(path):
            try:
                os.close(self._open_new(path))
            except FileExistsError:
                self._check_free(path)
            try:
                with self._held(path) as descriptor:
                    self._check_empty(path, descriptor)
                    self.write_over(path, descriptor, data)
            except Changed:
                raise Exists(path) from None
        return version_of(data)

    def put(self, key: str, data: bytes) -> None:
        path = self._path(key)
        with refusals(path):
            with suppress(FileExistsError):
                os.close(self._open_new(path))  # which also makes a client look at the name anew
            with self._held(path) as descriptor:
                self.write_over(path, descriptor, data)

    def delete(self, key: str) -> bool:
        path = self._path(key)
        try:
            with refusals(path), self._held(path) as descriptor:
                if self._is_gone(descriptor, self._content(descriptor)):
                    return False
                self.remove(path, descriptor)
        except Changed:
            return False
        return True

    @contextmanager
    def locked(self, key: str, version: str, patience: float = PATIENCE) -> Iterator[Locked]:
        path = self._path(key)
        with refusals(path), self._held(path, patience) as descriptor:
            raw = self._content(descriptor)
            if self._is_gone(descriptor, raw) or version_of(_whole(raw)) != version:
                raise Changed(key)
            yield LockedInPlace(self, path, descriptor)

    def names(self, folder: str) -> list[str]:
        """Without those that are not filled yet, or blanked and not gone yet."""
        return [
            name for name in super().names(folder) if name.endswith("/") or self._holds(f"{self.root}/{folder}{name}")
        ]

    def _holds(self, path: str) -> bool:
        try:
            return os.stat(path).st_size > len(REMOVED)  # which the listing has brought along
        except FileNotFoundError:
            return False
        except OSError as error:
            raise storage_error(error, path) from error

    def write_over(self, path: str, descriptor: int, data: bytes) -> None:
        """For who holds its lock."""
        self._write_whole(descriptor, sealed(data, os.fstat(descriptor).st_size))
        self._syncing.entry(path)

    def remove(self, path: str, descriptor: int) -> None:
        os.ftruncate(descriptor, 0)
        self._write_whole(descriptor, REMOVED)
        os.unlink(path)

    def _write_whole(self, descriptor: int, raw: bytes) -> None:
        if os.pwrite(descriptor, raw, 0) != len(raw):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._syncing.content(descriptor)

    def _content(self, descriptor: int) -> bytes:
        end = self._clock.boottime() + PATIENCE
        while True:
            try:
                return os.pread(descriptor, os.fstat(descriptor).st_size, 0)
            except PermissionError:  # SMB: the last one's lock is not quite gone
                if self._clock.boottime() > end:
                    raise
            self._clock.sleep(PAUSE)

    def _is_missing(self, path: str) -> bool:
        try:
            return stat_anew(path, self.root) is None
        except OSError as error:
            raise storage_error(error, path) from error

    def _held(self, path: str, patience: float = PATIENCE) -> AbstractContextManager[int]:
        patience = patience and SHARED_PATIENCE  # all of a key's users wait for one file, and each step takes longer
        return locked(path, self._clock, patience, check=lambda descriptor, path: True)

    def _check_free(self, path: str) -> None:
        """Whether it is time to fill what a creator, or a remover, left behind when it died; else Exists."""
        try:
            found = os.stat(path)
        except FileNotFoundError:
            raise Exists(path) from None
        if self.read(path) or self.now() - left_at(found) < (FORGOTTEN_SECONDS if found.st_size else HOLLOW_SECONDS):
            raise Exists(path)

    def _check_empty(self, path: str, descriptor: int) -> None:
        raw = self._content(descriptor)
        if self._is_gone(descriptor, raw) or (raw and not is_removed(raw)):
            raise Exists(path)

    def _is_gone(self, descriptor: int, raw: bytes) -> bool:
        """Whether the name may belong to another file by now. If it is long ago, the remover died half-way."""
        return is_removed(raw) and self.now() - os.fstat(descriptor).st_mtime < FORGOTTEN_SECONDS


class LockedInPlace(Locked):
    def __init__(self, store: SharedFileStore, path: str, descriptor: int) -> None:
        super().__init__(store, path)
        self._shared = store
        self._descriptor = descriptor

    def replace(self, data: bytes) -> str:
        self._shared.write_over(self._path, self._descriptor, data)
        return version_of(data)

    def delete(self) -> None:
        self._shared.remove(self._path, self._descriptor)


def _opened(path: str) -> FileIO:
    """For writing too, where we may: to one that only reads, an NFS server delegates the file, and a client (Linux 6.1)
    that gives this back while its processes contend for the file's lock was seen to ask for the lock for ever."""
    try:
        return FileIO(path, "r+")
    except PermissionError:
        return FileIO(path)
    except OSError as error:
        if error.errno != errno.EROFS:
            raise
        return FileIO(path)


def _whole(raw: bytes) -> bytes:
    """For who holds the lock: nobody is writing, so what is torn has lost its writer."""
    try:
        return unsealed(raw)
    except Torn:
        return b""
