"""What this host holds of a queue: one file a lease, so that another process can take it up.

SQS tells nobody what it gave to whom, and wants to see the receipt at every step. So the receipt is kept here: for
the process that beats for a worker, and for a later `dibs complete`. The file's mtime is the boottime at which the
lease ends; it is moved only after SQS has agreed to a renewal. No file, no lease.

    <folder>/<hash of the queue's URL>/<hash of the task's id>.<epoch>

Only their owner can read the files: payloads are in them.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dibs.clock import Clock
from dibs.errors import LeaseLost, StorageError
from dibs.queues.sqs.messages import Message
from dibs.stores.refusal import refusals
from dibs.values import asdict, dataclass, replace

_FORGET_SECONDS = 2 * 86400.0  # no lease is as old as that
_NANO = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    message: Message
    worker: str
    ttl: int
    since: float  # boottime
    boot: str

    def to_json(self) -> str:
        return json.dumps({**asdict(self), "message": asdict(self.message)})


def _holding_from(text: str) -> Holding:
    record: dict[str, Any] = json.loads(text)
    return replace(Holding(**record), message=Message(**record["message"]))


class Holdings:
    def __init__(self, folder: str, queue_url: str, clock: Clock, boot: str) -> None:
        self.folder = os.path.join(folder, hashlib.sha256(queue_url.encode()).hexdigest()[:16])
        self._clock = clock
        self._boot = boot
        with refusals(self.folder):
            for path in (folder, self.folder):
                os.makedirs(path, mode=0o700, exist_ok=True)
                seen = os.lstat(path)
                if seen.st_uid != os.getuid() or seen.st_mode & 0o022:
                    raise StorageError(f"{path} can be written by others; give another folder with ?leases=")
            self._sweep()

    def name(self, task_id: str, epoch: int) -> str:
        return f"{hashlib.sha256(task_id.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.{epoch}"

    def add(self, name: str, holding: Holding, until: float) -> bool:
        """False when this host holds that epoch of the task already: SQS gave it out twice."""
        path = self._path(name)
        scratch = f"{path}.{os.urandom(4).hex()}"
        with refusals(path):
            with open(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
                file.write(holding.to_json())
            _stamp(scratch, until)
            try:
                os.link(scratch, path)
                return True
            except FileExistsError:
                if self.read(name) is not None and (self.until(name) or 0.0) > self._clock.boottime():
                    return False
                os.replace(scratch, path)
                return True
            finally:
                _unlink(scratch)

    def read(self, name: str) -> Holding | None:
        """None when it is over, or from before this host's last boot."""
        path = self._path(name)
        with refusals(path):
            try:
                with open(path, encoding="ascii") as file:
                    holding = _holding_from(file.read())
            except FileNotFoundError:
                return None
        return holding if holding.boot == self._boot else None

    def until(self, name: str) -> float | None:
        """The boottime at which it ends; None when it is over."""
        path = self._path(name)
        with refusals(path):
            try:
                return os.stat(path).st_mtime_ns / _NANO
            except FileNotFoundError:
                return None

    def extend(self, name: str, until: float) -> None:
        """LeaseLost when somebody ended it meanwhile."""
        path = self._path(name)
        with refusals(path):
            try:
                _stamp(path, until)
            except FileNotFoundError:
                raise LeaseLost("it was ended by another process of this host") from None

    def remove(self, name: str) -> None:
        _unlink(self._path(name))

    @contextmanager
    def step(self, name: str) -> Iterator[float | None]:
        """One step at a time: a beat that is under way must not come after what gives the task back.
        Yields until when it holds; None when it does not."""
        try:
            fd = os.open(self._path(name), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            yield None
            return
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            seen = os.fstat(fd)
            until = seen.st_mtime_ns / _NANO
            yield until if seen.st_nlink and until > self._clock.boottime() else None
        finally:
            os.close(fd)

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def _sweep(self) -> None:
        """Remove what was left by processes that died long ago."""
        with os.scandir(self.folder) as entries:
            for entry in entries:
                try:
                    if self._clock.wall() - entry.stat().st_ctime > _FORGET_SECONDS:
                        _unlink(entry.path)
                except FileNotFoundError:
                    pass  # somebody else did


def _stamp(path: str, until: float) -> None:
    moment = int(until * _NANO)
    os.utime(path, ns=(moment, moment))


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
