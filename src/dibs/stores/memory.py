"""A store in this process's memory. Safe for threads; gone with the process.

Keys are kept in sorted folders, so that a step costs what its folder holds, not what the store holds.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator
from threading import Lock

from dibs.clock import SYSTEM, Clock
from dibs.stores.store import Changed, Entry, Exists, checked
from dibs.stores.walk import walk

Names = list[str]


class MemoryStore:
    lanes = 1

    def __init__(self, clock: Clock = SYSTEM) -> None:
        self._clock = clock
        self._lock = Lock()
        self._entries: dict[str, Entry] = {}
        self._names: dict[str, list[str]] = {"": []}
        self._count = 0

    def get(self, key: str) -> Entry | None:
        return self._entries.get(key)

    def create(self, key: str, data: bytes) -> str:
        checked(key)
        with self._lock:
            if key in self._entries:
                raise Exists(key)
            self._enter(key)
            return self._set(key, data)

    def replace(self, key: str, data: bytes, version: str) -> str:
        with self._lock:
            self._expect(key, version)
            return self._set(key, data)

    def delete(self, key: str) -> bool:
        with self._lock:
            if key not in self._entries:
                return False
            self._remove(key)
            return True

    def discard(self, key: str) -> None:
        self.delete(key)

    def delete_if(self, key: str, version: str) -> None:
        with self._lock:
            self._expect(key, version)
            self._remove(key)

    def list(self, prefix: str, start_after: str = "") -> Iterator[str]:
        return walk(self._folder, prefix, start_after)

    def folders(self, prefix: str) -> Iterator[str]:
        return (name[:-1] for name in self._folder(prefix) if name.endswith("/"))

    def now(self) -> float:
        return self._clock.wall()

    def _folder(self, folder: str) -> Names:
        with self._lock:
            return self._names.get(folder, [])[:]

    def _expect(self, key: str, version: str) -> None:
        entry = self._entries.get(key)
        if entry is None or entry.version != version:
            raise Changed(key)

    def _set(self, key: str, data: bytes) -> str:
        self._count += 1
        version = str(self._count)
        self._entries[key] = Entry(data, version)
        return version

    def _remove(self, key: str) -> None:
        del self._entries[key]
        while True:
            folder, name = _split(key)
            names = self._names[folder]
            del names[bisect_left(names, name)]
            if names or not folder:
                return
            del self._names[folder]
            key = folder

    def _enter(self, key: str) -> None:
        while True:
            folder, name = _split(key)
            names = self._names.get(folder)
            if names is not None:
                insort(names, name)
                return
            self._names[folder] = [name]
            key = folder


def _split(key: str) -> tuple[str, str]:
    """(folder, name) of a key "a/b" or of a folder "a/b/"."""
    at = key.rfind("/", 0, len(key) - 1) + 1
    return key[:at], key[at:]
