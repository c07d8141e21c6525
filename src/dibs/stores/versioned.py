"""A store of large files on NFS: as `files`, but what is ever replaced is a folder of numbered versions.

    shards/3f.usv/12        the highest number is the value; lower ones are about to be deleted

A client that replaces a file which somebody has open there takes the name away for a moment, and if it is killed in
that moment, for ever; it remembers for seconds which file has a name; and it loses its locks when it is cut off for
longer than the server waits. So no name is used for another file here, and no lock is relied on:

get       list the folder, which asks the server, and read the highest
replace   read the highest, n; link the new one to n + 1, which the server lets one alone do; list again. If there is a
          higher one by then, it came too late, or was followed already: it is Unsure
delete    the same with an empty file

The highest is never deleted, so the highest number never falls. Who had read n and slept may find n + 1 free again,
since it was deleted; but only because there is a higher one, which the second listing shows, and nobody reads what
stands below it. Whoever sees its own number as the highest has followed n, and nobody else ever does.

Names that are missing are looked for in a folder that was opened anew (see `anew`). It all holds on a disk too.
"""

import errno
import os
from collections.abc import Callable
from contextlib import suppress

from dibs.clock import SYSTEM, Clock
from dibs.errors import StorageError, Unsupported
from dibs.stores.anew import stat_anew
from dibs.stores.filelock import PAUSE
from dibs.stores.files import FRESH_BYTES, FileStore, Names
from dibs.stores.refusal import refusals, storage_error
from dibs.stores.store import Changed, Entry, Exists, Unsure

TRIES = 100
HIDDEN = ".nfs"  # what a client calls a file that it was told to delete while somebody has it open


class VersionedFileStore(FileStore):
    def __init__(
        self,
        root: str,
        *,
        replaced: Callable[[str], bool],
        clock: Clock = SYSTEM,
        sync: bool = False,
        fresh: bytes = b"",
    ) -> None:
        """`replaced`: whether a key is one that is ever replaced. The others are created and deleted only."""
        super().__init__(root, clock=clock, sync=sync, fresh=fresh)
        self._replaced = replaced

    def get(self, key: str) -> Entry | None:
        if not self._replaced(key):
            return super().get(key)
        _, data = self._latest(self._path(key))
        return Entry(data, self._version(data)) if data else None

    def read(self, path: str) -> bytes:
        for _ in range(TRIES):
            try:
                with open(path, "rb", buffering=0) as file:
                    return file.read()
            except (FileNotFoundError, NotADirectoryError):
                if self._is_missing(path):
                    return b""
            except OSError as error:
                if error.errno != errno.ESTALE:
                    raise storage_error(error, path) from error
            self._clock.sleep(PAUSE)
        raise _unsteady(path)

    def create(self, key: str, data: bytes) -> str:
        if not self._replaced(key):
            return super().create(key, data)
        path = self._path(key)
        number, there = self._latest(path)
        if there:
            raise Exists(path)
        try:
            self._follow(path, number, data)
        except Changed:
            raise Exists(path) from None
        return self._version(data)

    def replace(self, key: str, data: bytes, version: str) -> str:
        if not self._replaced(key):
            return super().replace(key, data, version)
        self._follow(self._path(key), self._at(key, version), data)
        return self._version(data)

    def delete(self, key: str) -> bool:
        if not self._replaced(key):
            return super().delete(key)
        path = self._path(key)
        unsure = False
        while True:
            number, there = self._latest(path)
            if not there:
                return unsure
            try:
                self._follow(path, number, b"")
                return True
            except Changed:
                pass
            except Unsure:
                unsure = True

    def delete_if(self, key: str, version: str) -> None:
        if not self._replaced(key):
            super().delete_if(key, version)
        else:
            self._follow(self._path(key), self._at(key, version), b"")

    def discard(self, key: str) -> None:
        if self._replaced(key):
            self.delete(key)
            return
        path = self._path(key)
        with refusals(path), suppress(FileNotFoundError, NotADirectoryError):
            os.unlink(path)  # without a lock: what is never replaced needs none

    def names(self, folder: str) -> Names:
        names = super().names(folder)
        if not names and not self._is_missing(f"{self.root}/{folder}".rstrip("/")):
            names = super().names(folder)
        found = []
        for name in names:
            if name.endswith("/") and self._replaced(folder + name[:-1]):
                name = name[:-1]
                if not self._has_value(f"{self.root}/{folder}{name}"):
                    continue
            if not name.startswith(HIDDEN):
                found.append(name)
        return sorted(found)

    def _has_value(self, path: str) -> bool:
        number = max(self._numbers(path), default=0)
        try:
            return number > 0 and os.stat(f"{path}/{number}").st_size > 0
        except FileNotFoundError:
            return True  # there is a later one; a listing is a hint
        except OSError as error:
            raise storage_error(error, path) from error

    def _at(self, key: str, version: str) -> int:
        """The number of the latest, if that is the version; else Changed."""
        number, data = self._latest(self._path(key), FRESH_BYTES if self._fresh else -1)
        if self._fresh and not self._is_fresh(data):
            number, data = self._latest(self._path(key))
        if not data or self._version(data) != version:
            raise Changed(key)
        return number

    def _latest(self, path: str, most: int = -1) -> tuple[int, bytes]:
        """Number and content, or as much of it; 0 and nothing when there was never any."""
        for _ in range(TRIES):
            number = max(self._numbers(path), default=0)
            if not number:
                return 0, b""
            try:
                with open(f"{path}/{number}", "rb", buffering=0) as file:
                    return number, file.read(most)
            except OSError as error:
                if error.errno not in (errno.ENOENT, errno.ESTALE):  # else there is a later one
                    raise storage_error(error, path) from error
            self._clock.sleep(PAUSE)
        raise _unsteady(path)

    def _numbers(self, path: str) -> list[int]:
        """As the server has them now: a client asks it when a folder is opened."""
        try:
            try:
                names = os.listdir(path)
            except FileNotFoundError:
                if self._is_missing(path):
                    return []
                names = os.listdir(path)
        except NotADirectoryError:
            raise Unsupported(f"{path} was written on a disk, and cannot be shared over NFS as it is") from None
        except OSError as error:
            raise storage_error(error, path) from error
        return [int(name) for name in names if name.isascii() and name.isdigit()]

    def _follow(self, path: str, number: int, data: bytes) -> None:
        """Write the version after this one. Changed if there is another after it, Unsure if that may be after ours."""
        mine = number + 1
        with refusals(path), self._spilled(data) as spare:
            try:
                self._link(spare, f"{path}/{mine}")
            except FileExistsError:
                raise Changed(path) from None
            numbers = self._numbers(path)
            highest = max(numbers, default=0)
            if highest == mine:
                self._syncing.entry(f"{path}/{mine}")
            for other in numbers:
                if other < highest:
                    with suppress(FileNotFoundError):
                        os.unlink(f"{path}/{other}")
        if highest != mine:
            raise Unsure(f"{path} was replaced by others at the same moment; look at what it is now")

    def _link(self, spare: str, path: str) -> None:
        try:
            try:
                os.link(spare, path)
            except FileNotFoundError:
                self._make_folder_of(path)
                os.link(spare, path)
        except FileExistsError:
            with open(spare, "rb", buffering=0) as file:  # which asks the server
                if os.fstat(file.fileno()).st_nlink != 2:  # 2: it is ours, only the answer was lost
                    raise

    def _fill_hollow(self, path: str, spare: str) -> None:
        """An empty file is left alone: that its creator is dead cannot be told without a lock."""
        raise Exists(path)

    def _is_missing(self, path: str) -> bool:
        try:
            return stat_anew(path, self.root) is None
        except OSError as error:
            raise storage_error(error, path) from error


def _unsteady(path: str) -> StorageError:
    return StorageError(f"{path} comes and goes; look at the mount and the server")
