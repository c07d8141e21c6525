"""A store of plain files: a key is a path below the root.

create   writes a file in tmp/ and links it to its name: it appears whole, once, for one creator
         (where the file system has no links: an empty file by O_EXCL, then as replace does)
replace  locks the file that has the name, makes sure that it still has it, compares the
         content, and renames a new file over it. The next one in line for the lock finds that the
         name has moved on and looks again. Renaming, not writing in place: a reader takes no lock and
         must never see half a record, nor may a crash leave one (but see `shared`)
delete   the same lock, then unlink

An empty file is a creation that has not happened: what a power cut leaves of an unsynced file, or a
foreign creator who has not written yet. It reads as absent, and after HOLLOW_SECONDS can be created over.
With `sync` a write that returned survives a power cut.

A version is a hash of the content; of values that begin with `fresh`, a mark that is followed by something that no two
of them share, one of their beginning. In a store with `fresh` a value may be any bytes, zero bytes at its start too:
what is no sealed record is read as it is.
"""

import errno
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count

from dibs.clock import SYSTEM, Clock
from dibs.errors import StorageError
from dibs.stores import sealed
from dibs.stores.filelock import PATIENCE, Busy, locked
from dibs.stores.refusal import refusals, storage_error
from dibs.stores.store import Changed, Entry, Exists, checked
from dibs.stores.syncing import Syncing
from dibs.stores.walk import walk

HOLLOW_SECONDS = 5.0
PROBE_SECONDS = 2.0
FRESH_BYTES = 1024
_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV}
_serial = count()
Names = list[str]
__all__ = ["HOLLOW_SECONDS", "Busy", "FileStore", "Locked", "version_of"]


class FileStore:
    """The root must exist; folders below it are made as needed. Safe for threads and processes."""

    lanes = 1
    in_place = False

    def __init__(self, root: str, *, clock: Clock = SYSTEM, sync: bool = False, fresh: bytes = b"") -> None:
        self.root = root
        self._fresh = fresh
        self._clock = clock
        self._syncing = Syncing(sync)
        self._tmp = f"{root}/tmp"
        self._offset = 0.0
        self._probed: float | None = None

    def get(self, key: str) -> Entry | None:
        data = self.read(self._path(key))
        return Entry(data, self._version(data)) if data else None

    def read(self, path: str) -> bytes:
        """Nothing when there is no such file."""
        try:
            with open(path, "rb", buffering=0) as file:
                return self._unsealed(file.read())
        except (FileNotFoundError, NotADirectoryError):
            return b""
        except sealed.Torn as torn:
            raise StorageError(f"damaged: {path} is {torn}; remove it if nobody works on its task") from None
        except OSError as error:
            raise storage_error(error, path) from error

    def create(self, key: str, data: bytes) -> str:
        path = self._path(key)
        with refusals(path), self._spilled(data) as spare:
            try:
                self._link(spare, path)
            except FileExistsError:
                self._fill_hollow(path, spare)
            self._syncing.entry(path)
        return self._version(data)

    def replace(self, key: str, data: bytes, version: str) -> str:
        with self.locked(key, version) as cell:
            return cell.replace(data)

    def put(self, key: str, data: bytes) -> None:
        """Write whatever was there: for keys that only the holder of some other key's lock writes."""
        path = self._path(key)
        with refusals(path), self._spilled(data) as spare:
            try:
                os.rename(spare, path)
            except FileNotFoundError:
                self._make_folder_of(path)
                os.rename(spare, path)
            self._syncing.entry(path)

    def delete(self, key: str) -> bool:
        path = self._path(key)
        try:
            with refusals(path), locked(path, self._clock):
                os.unlink(path)
        except Changed:
            return False
        return True

    def discard(self, key: str) -> None:
        self.delete(key)

    def delete_if(self, key: str, version: str) -> None:
        with self.locked(key, version) as cell:
            cell.delete()

    def list(self, prefix: str, start_after: str = "") -> Iterator[str]:
        return walk(self.names, prefix, start_after)

    def folders(self, prefix: str) -> Iterator[str]:
        return (name[:-1] for name in self.names(prefix) if name.endswith("/"))

    def now(self) -> float:
        """The file server's clock, by the time it gives a new file; measured anew every few seconds.
        Where no file can be made it is this host's clock: good enough to look at things."""
        boottime = self._clock.boottime()
        if self._probed is None or boottime - self._probed > PROBE_SECONDS:
            server = self._server_time()
            boottime = self._probed = self._clock.boottime()  # after it: who sleeps in between lags, never leads
            self._offset = server - boottime
        return self._offset + boottime

    def _server_time(self) -> float:
        try:
            with self._spilled(b"?") as spare:
                return os.stat(spare).st_mtime
        except OSError as error:
            if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOENT):
                raise storage_error(error, self.root) from error
            return self._clock.wall()

    @contextmanager
    def locked(self, key: str, version: str, patience: float = PATIENCE) -> Iterator["Locked"]:
        """Nobody else changes the key inside; Changed if it is at another version. For steps that touch more files."""
        path = self._path(key)
        with refusals(path), locked(path, self._clock, patience) as descriptor:
            with open(descriptor, "rb", closefd=False, buffering=0) as file:
                data = file.read(FRESH_BYTES) if self._fresh else b""
                if not self._is_fresh(data):
                    data += file.read()
                if self._version(self._unsealed(data)) != version:
                    raise Changed(key)
            yield Locked(self, path)

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Writes of this thread inside are synced together when it ends, not one by one."""
        with refusals(self.root), self._syncing.together():
            yield

    def sweep(self, older_than: float = 3600.0) -> int:
        """Remove what crashed writers left in tmp/."""
        swept = 0
        limit = self.now() - older_than
        for name in self.names("tmp/"):
            with suppress(OSError):
                if os.stat(f"{self._tmp}/{name}").st_mtime < limit:
                    os.unlink(f"{self._tmp}/{name}")
                    swept += 1
        return swept

    def _unsealed(self, raw: bytes) -> bytes:
        if not self._fresh:
            return sealed.record(raw)
        try:
            return sealed.record(raw) or raw
        except sealed.Torn:
            return raw

    def _is_fresh(self, data: bytes) -> bool:
        return bool(self._fresh) and data.startswith(self._fresh)

    def _version(self, data: bytes) -> str:
        return version_of(data[:FRESH_BYTES] if self._is_fresh(data) else data)

    def _path(self, key: str) -> str:
        return f"{self.root}/{checked(key)}"

    def names(self, folder: str) -> Names:
        """What stands in a folder ("" or "a/b/"), sorted; names of folders end in "/"."""
        try:
            with os.scandir(f"{self.root}/{folder}") as entries:
                names = [entry.name + "/" if entry.is_dir(follow_symlinks=False) else entry.name for entry in entries]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise storage_error(error, f"{self.root}/{folder}") from error
        if not folder and "tmp/" in names:
            names.remove("tmp/")
        names.sort()
        return names

    @contextmanager
    def _spilled(self, data: bytes) -> Iterator[str]:
        """A new file in tmp/ with this content; removed at the end if it is still there."""
        spare = f"{self._tmp}/{os.getpid()}-{next(_serial)}-{os.urandom(4).hex()}"
        descriptor = self._open_new(spare)
        try:
            try:
                view = memoryview(data)
                while view:
                    view = view[os.write(descriptor, view) :]
                self._syncing.content(descriptor)
            finally:
                os.close(descriptor)
            yield spare
        finally:
            with suppress(FileNotFoundError):
                os.unlink(spare)

    def _open_new(self, path: str) -> int:
        try:
            return os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        except FileNotFoundError:
            self._make_folder_of(path)
            return os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)

    def _make_folder_of(self, path: str) -> None:
        """Missing folders between the root and `path`; never the root itself, which somebody may have removed."""
        made = self.root
        for part in path[len(self.root) + 1 :].split("/")[:-1]:
            made = f"{made}/{part}"
            with suppress(FileExistsError):
                os.mkdir(made)
                self._syncing.folder(made)

    def _link(self, spare: str, path: str) -> None:
        try:
            try:
                os.link(spare, path)
            except FileNotFoundError:
                self._make_folder_of(path)
                os.link(spare, path)
        except FileExistsError:
            if os.stat(spare).st_nlink != 2:  # 2: it is ours, only the answer was lost (NFS)
                raise
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            os.close(self._open_new(path))
            self._swap_hollow(path, spare)

    def _fill_hollow(self, path: str, spare: str) -> None:
        """Take the place of an empty file that nobody is about to fill any more, else Exists."""
        try:
            found = os.stat(path)
        except FileNotFoundError:
            raise Exists(path) from None
        if found.st_size or self.now() - left_at(found) < HOLLOW_SECONDS:
            raise Exists(path) from None
        self._swap_hollow(path, spare)

    def _swap_hollow(self, path: str, spare: str) -> None:
        try:
            with locked(path, self._clock) as descriptor:
                if os.fstat(descriptor).st_size:
                    raise Exists(path)
                os.rename(spare, path)
        except Changed:
            raise Exists(path) from None


class Locked:
    """A key whose lock is held. One of these steps at most."""

    def __init__(self, store: FileStore, path: str) -> None:
        self._store = store
        self._path = path

    def replace(self, data: bytes) -> str:
        with self._store._spilled(data) as spare:
            os.rename(spare, self._path)
            self._store._syncing.entry(self._path)
        return self._store._version(data)

    def delete(self) -> None:
        os.unlink(self._path)


def version_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def left_at(found: os.stat_result) -> float:
    """When a file that is not filled was made. On NFS `mtime` is any number until its creator, if it lives, sets it."""
    return min(found.st_mtime, found.st_ctime)
