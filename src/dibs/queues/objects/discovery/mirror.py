"""A list of ready tasks in a folder of this host, shared by all its processes; leases stay on the bucket.

    PATH/<hash of queue and machine>/names      a line of marks, one for each name ("x": given out), then the list
    PATH/<hash of queue and machine>/listing    locked by the one process that lists; says since when

A list is written aside and renamed in, so it is always whole; locks die with their process. The folder can be deleted
at any time. Ages are measured on the boottime clock, so a list of an earlier boot is none.
"""

import fcntl
import hashlib
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from dibs.clock import Clock
from dibs.errors import BadInput
from dibs.host import Host
from dibs.queues.objects.discovery.snapshot import Snapshot, list_ready, read
from dibs.stores.refusal import refusals
from dibs.stores.store import Store

STUCK_SECONDS = 120.0
LOCK_TRIES = 20
_FREE, _GIVEN = b".", b"x"


class Mirror:
    def __init__(self, path: str, address: str, store: Store, clock: Clock, rng: random.Random, host: Host) -> None:
        code = hashlib.sha256(f"{address}\n{host.machine}".encode()).hexdigest()[:16]
        self.folder = f"{path}/{code}"
        self._names = f"{self.folder}/names"
        self._address = address
        self._store = store
        self._clock = clock
        self._rng = rng
        self._boot = host.boot
        self._snapshot: Snapshot | None = None
        self._marks: FileMarks | None = None
        self._seen: tuple[int, ...] = ()

    def newest(self) -> Snapshot | None:
        with refusals(self._names):
            try:
                found = _identity(os.stat(self._names))
            except (FileNotFoundError, NotADirectoryError):
                found = ()
            if found != self._seen:
                self.close()
                if found:
                    self._load()
        return self._snapshot

    def age(self, snapshot: Snapshot) -> float:
        return self._clock.boottime() - snapshot.made

    def renew(self, seen: Snapshot | None) -> Snapshot | None:
        with refusals(self.folder):
            os.makedirs(self.folder, exist_ok=True)
            with self._right_to_list() as mine:
                if mine and self.newest() is seen:
                    self._list()
        return self.newest()

    def close(self) -> None:
        if self._marks is not None:
            self._marks.close()
        self._snapshot, self._marks, self._seen = None, None, ()

    def _load(self) -> None:
        try:
            marks = FileMarks(self._names, self._clock)
        except FileNotFoundError:
            return
        try:
            given, _, rest = marks.read().partition(b"\n")
            head, keys = read(rest)
            if len(given) != len(keys) or head.get("boot") != self._boot or head["made"] > self._clock.boottime():
                raise BadInput("a list of another time")
            self._snapshot = Snapshot(head, keys, self._rng, marks)
        except BadInput:  # as good as none: it is listed anew
            self._snapshot = None
        self._marks, self._seen = marks, _identity(os.fstat(marks.descriptor))

    def _list(self) -> None:
        made = self._clock.boottime()
        listed = list_ready(self._store, self._rng, self._snapshot is not None and self._snapshot.cut)
        data = _FREE * len(listed.keys) + b"\n" + listed.to_bytes(made, boot=self._boot, queue=self._address)
        spare = f"{self._names}.{os.getpid()}.{os.urandom(4).hex()}.new"
        try:
            with open(spare, "xb", buffering=0) as file:
                view = memoryview(data)
                while view:
                    view = view[file.write(view) :]
            with suppress(FileNotFoundError):  # we were stopped for long, and another lister has swept it away
                os.rename(spare, self._names)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(spare)

    @contextmanager
    def _right_to_list(self) -> Iterator[bool]:
        """Of one process at a time; of one more when that is stopped, or stuck."""
        descriptor = os.open(f"{self.folder}/listing", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield self._stuck(os.pread(descriptor, 200, 0))
                return
            try:
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, f"{self._boot} {self._clock.boottime():.3f}\n".encode(), 0)
                self._sweep()
                yield True
            finally:
                fcntl.flock(descriptor, fcntl.LOCK_UN)  # a fork meanwhile may keep a copy of the descriptor
        finally:
            os.close(descriptor)

    def _stuck(self, said: bytes) -> bool:
        boot, _, since = said.decode("ascii", "replace").strip().partition(" ")
        try:
            return boot == self._boot and self._clock.boottime() - float(since) > STUCK_SECONDS
        except ValueError:
            return False

    def _sweep(self) -> None:
        """What listers left that were killed."""
        for name in os.listdir(self.folder):
            if name.startswith("names.") and name.endswith(".new"):
                with suppress(FileNotFoundError):
                    os.unlink(f"{self.folder}/{name}")


class FileMarks:
    """The first line of the file, changed in place under its lock. Who cannot get the lock soon goes without:
    the worst is a name that two processes try."""

    def __init__(self, path: str, clock: Clock) -> None:
        self._file = open(path, "r+b", buffering=0)  # noqa: SIM115 - until `close`
        self._clock = clock
        self.descriptor = self._file.fileno()

    def read(self) -> bytes:
        return self._file.readall()

    def free(self, index: int) -> bool:
        return os.pread(self.descriptor, 1, index) == _FREE

    def take(self, index: int) -> bool:
        with refusals(str(self._file.name)):
            locked = self._lock()
            try:
                free = self.free(index)
                if free:
                    os.pwrite(self.descriptor, _GIVEN, index)
            finally:
                if locked:
                    fcntl.flock(self.descriptor, fcntl.LOCK_UN)
        return free

    def close(self) -> None:
        self._file.close()

    def _lock(self) -> bool:
        for _ in range(LOCK_TRIES):
            try:
                fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                self._clock.sleep(0.001)
        return False


def _identity(found: os.stat_result) -> tuple[int, ...]:
    """Of a file that is replaced, never written again but for its marks."""
    return found.st_dev, found.st_ino, found.st_size
