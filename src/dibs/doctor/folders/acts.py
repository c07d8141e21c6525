"""What the contending processes do in a folder. `at`, `step`: when the first round is, and how far apart they are."""

import os
from functools import partial
from typing import Any

from dibs.clock import SYSTEM
from dibs.doctor.race import rounds, word_of
from dibs.errors import StorageError
from dibs.stores.files import FileStore
from dibs.stores.store import Changed

_NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY
_ADD_SECONDS = 5.0
WHOLE = b"dibs" * 300 + b"\n"


class Acts:
    """`mark` tells hosts apart where several take part."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._clock = SYSTEM

    def create(self, me: int, count: int, at: float, step: float, mark: str = "") -> list[str]:
        os.makedirs(f"{self._folder}/create", exist_ok=True)  # some show a folder to others only with a file in it

        def make(number: int) -> None:
            descriptor = os.open(f"{self._folder}/create/{number}", _NEW, 0o666)
            os.write(descriptor, f"{mark}{me}\n".encode())
            os.close(descriptor)

        return [word_of(partial(make, number), FileExistsError) for number in rounds(count, at, step, self._clock)]

    def link(self, me: int, count: int, at: float, step: float, mark: str = "") -> list[str]:
        os.makedirs(f"{self._folder}/link", exist_ok=True)
        own = f"{self._folder}/link/own-{mark}{me}"
        os.close(os.open(own, _NEW, 0o666))
        return [
            word_of(partial(os.link, own, f"{self._folder}/link/{number}"), FileExistsError)
            for number in rounds(count, at, step, self._clock)
        ]

    def rename(self, me: int, count: int, at: float, step: float, mark: str = "") -> list[str]:
        folder = f"{self._folder}/rename"
        return [
            word_of(partial(os.rename, f"{folder}/{number}", f"{folder}/{number}.{mark}{me}"), FileNotFoundError)
            for number in rounds(count, at, step, self._clock)
        ]

    def count(self, me: int, count: int, at: float, step: float) -> list[int]:
        """Add one to a number so many times, as key cells and leases of `dir:` are changed: under a lock, from the
        version that was seen. (how often it was done, how often the storage said no)"""
        store = FileStore(f"{self._folder}/locks", clock=self._clock)
        done = refused = 0
        for _ in rounds(count, at, step, self._clock):
            until = min(self._clock.boottime(), at + count * step) + _ADD_SECONDS
            while self._clock.boottime() < until:
                try:
                    if added(store) is not None:
                        done += 1
                        break
                except StorageError:
                    refused += 1
                    self._clock.sleep(0.01)
        return [done, refused]

    def watch_moves(self, me: int, count: int, at: float, step: float) -> dict[str, int]:
        """A file goes from name to name, `moves/0`, `moves/1` …: is it ever at two, at none, or only in part?"""
        seen = {"looked": 0, "two": 0, "none": 0, "part": 0}
        for number in range(count):
            old, new, past = (f"{self._folder}/moves/{number + more}" for more in (0, 1, 2))
            was = gone = False
            until = at + (number + 3) * step
            while not os.path.exists(new):
                if os.path.exists(old):
                    was = True
                else:
                    gone = gone or (was and not os.path.exists(new))
                if self._clock.boottime() > until or os.path.exists(past):
                    break
            else:
                seen["looked"] += 1
                seen["two"] += os.path.exists(old)
                seen["none"] += gone and os.path.exists(new)
                seen["part"] += _part(new)
        return seen

    def watch_replaced(self, me: int, until: float) -> dict[str, int]:
        """A file is replaced again and again: is it ever missing, or only in part?"""
        seen = {"looked": 0, "none": 0, "part": 0}
        path = f"{self._folder}/replaced/file"
        while self._clock.boottime() < until:
            seen["looked"] += 1
            try:
                with open(path, "rb", buffering=0) as file:
                    seen["part"] += len(file.read()) != len(WHOLE)
            except FileNotFoundError:
                seen["none"] += 1
            except OSError:
                pass  # ESTALE: the server took it away while it was open
        return seen

    def see(self, me: int, name: str, there: bool, patience: float, listed: bool) -> float | None:
        """When (boottime) a name was, or was no longer, listed or found by a stat; None: not within `patience`."""
        folder, _, last = name.rpartition("/")
        until = self._clock.boottime() + patience
        while (now := self._clock.boottime()) < until:
            found = (
                last in os.listdir(f"{self._folder}/{folder}") if listed else os.path.exists(f"{self._folder}/{name}")
            )
            if found == there:
                return now
            self._clock.sleep(0.002)
        return None

    def see_time(self, me: int, name: str, after: float, patience: float) -> float | None:
        """The boottime at which a file had a time stamp later than `after`."""
        until = self._clock.boottime() + patience
        while (now := self._clock.boottime()) < until:
            if os.stat(f"{self._folder}/{name}").st_mtime > after:
                return now
            self._clock.sleep(0.002)
        return None

    def cycle(self, me: int, seconds: float, sync: bool) -> list[float]:
        """What a task costs: written aside, moved in, claimed, read, completed. (how many, in how many seconds)"""
        folder = f"{self._folder}/pace/{me}"
        os.makedirs(folder, exist_ok=True)
        done, start = 0, self._clock.boottime()
        while (now := self._clock.boottime()) - start < seconds:
            _one(f"{folder}/{done}", sync=sync)
            done += 1
        return [done, now - start]


def added(store: FileStore) -> int | None:
    """The number that was there and has one more now; None when another was first."""
    entry = store.get("number")
    if entry is None:
        return None
    number = int(entry.data.split()[0])
    try:
        store.replace("number", f"{number + 1} {os.urandom(6).hex()}\n".encode(), entry.version)
    except Changed:
        return None
    return number


def _one(path: str, *, sync: bool) -> None:
    descriptor = os.open(f"{path}.tmp", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o666)
    os.write(descriptor, b"x" * 200)
    if sync:
        os.fsync(descriptor)
    os.close(descriptor)
    os.rename(f"{path}.tmp", f"{path}.pending")
    os.rename(f"{path}.pending", f"{path}.leased")
    with open(f"{path}.leased", "rb", buffering=0) as file:
        file.read()
    os.rename(f"{path}.leased", f"{path}.completed")


def _part(path: str) -> Any:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read() != WHOLE
    except OSError:
        return False  # it has moved on
