"""What the contending processes do in a folder. `at`, `step`: when the first round is, and how far apart they are."""

import os
import random
from contextlib import suppress
from errno import EBUSY, ESTALE
from functools import partial
from typing import TYPE_CHECKING, Any

from dibs.clock import SYSTEM, Clock
from dibs.doctor.race import rounds, word_of
from dibs.errors import StorageError
from dibs.queues import open_queue
from dibs.stores.files import FileStore
from dibs.stores.shared import file_store
from dibs.stores.store import Changed

if TYPE_CHECKING:
    from dibs.queues.files.marked import MarkedCells

_NEW = os.O_CREAT | os.O_EXCL | os.O_WRONLY
_ADD_SECONDS = 5.0
_STEP_SECONDS = 3.0
_KEPT = 100  # files of each who measures the pace
WHOLE = b"dibs" * 300 + b"\n"


class Acts:
    """`mark` tells hosts apart where several take part."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._clock = SYSTEM

    def _sub(self, name: str) -> str:
        """Never what lies above: whoever began may have removed it."""
        path = f"{self._folder}/{name}"
        _make(path)
        return path

    def create(self, me: int, count: int, at: float, step: float, mark: str = "") -> list[str]:
        self._sub("create")  # some show a folder to others only with a file in it

        def make(number: int) -> None:
            descriptor = os.open(f"{self._folder}/create/{number}", _NEW, 0o666)
            os.write(descriptor, f"{mark}{me}\n".encode())
            os.close(descriptor)

        return [word_of(partial(make, number), FileExistsError) for number in rounds(count, at, step, self._clock)]

    def link(self, me: int, count: int, at: float, step: float, mark: str = "") -> list[str]:
        self._sub("link")
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

    def marked(self, me: int, count: int, at: float, step: float, mark: str = "") -> list[str]:
        """As `rename`, but one after the other, by the code of a queue with markers."""
        self._sub("markers")
        cells = _marked_cells(self._folder, f"{mark}{me}", self._clock)

        def move(number: int) -> None:
            source = f"{self._folder}/marked/{number:032x}"
            until = self._clock.boottime() + _STEP_SECONDS
            try:
                while (moved := cells.attempt(source, f"{source}.{mark}{me}")) is None:
                    if self._clock.boottime() > until:
                        raise OSError(EBUSY, "a marker stays")
                    self._clock.sleep(0.002)
            except StorageError as error:
                raise OSError(ESTALE, "what is gone is still shown") from error
            if not moved:
                raise FileNotFoundError

        return [word_of(partial(move, number), FileNotFoundError) for number in rounds(count, at, step, self._clock)]

    def count(self, me: int, count: int, at: float, step: float) -> list[int]:
        """Add one to a number so many times, as key cells and leases of `dir:` are changed: under a lock, from the
        version that was seen. (how often it was done, how often the storage said no)"""
        store = file_store(f"{self._folder}/locks", clock=self._clock)
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
        self._sub("pace")
        folder = self._sub(f"pace/{me}")
        done, start = 0, self._clock.boottime()
        while (now := self._clock.boottime()) - start < seconds:
            path = f"{folder}/{done % _KEPT}"
            if done >= _KEPT:
                os.unlink(f"{path}.completed")
            _one(path, sync=sync)
            done += 1
        return [done, now - start]

    def work(self, me: int, url: str, seconds: float) -> list[float]:
        """Tasks of a queue, pushed, claimed and completed one by one. (how many, in how many seconds)"""
        with open_queue(url) as queue:
            made = done = 0
            start = self._clock.boottime()
            while (now := self._clock.boottime()) - start < seconds:
                queue.push({}, key=f"task-{me}-{made}")
                made += 1
                lease = queue.claim()
                if lease is not None:
                    lease.complete()
                    done += 1
        return [done, now - start]


def _make(path: str) -> None:
    with suppress(FileExistsError):
        os.mkdir(path)


def _marked_cells(folder: str, me: str, clock: Clock) -> "MarkedCells":
    from dibs.host import this_host
    from dibs.queues.files.fs import LocalFs
    from dibs.queues.files.layout import Layout
    from dibs.queues.files.marked import MarkedCells
    from dibs.queues.files.markers import Markers

    fs, layout = LocalFs(), Layout(folder, 1)
    markers = Markers(
        fs, layout, clock, this_host(), random.Random(), lambda: fs.server_time(f"{folder}/clock-{me}"), _make
    )
    markers.give_up_seconds = _STEP_SECONDS
    return MarkedCells(fs, layout, clock, markers, sync=False)


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
