"""A disk in memory that loses power: of what was not synced, any combination may be gone.

Every change of a folder is an operation. `sync_folder` makes the operations that touched that folder durable, a synced
write makes a file's content durable, `sync_all` everything. A cut keeps all that is durable, and any part of
the rest: operations in any combination, contents old, new, torn or empty. A rename is atomic, as file systems
with a journal have it. A file whose folder was never made durable is lost with it.

`strict` is a disk on which even a folder may be lost under a rename into it, as POSIX allows; otherwise an
operation that is kept keeps what it builds on, as every journal does.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from dibs.errors import BadInput

DIRECTORY = -1


class Cut(BaseException):
    """The power goes, or the process dies: nothing after this happens."""


@dataclass
class File:
    data: bytes
    synced: bytes | None = None


@dataclass
class Step:
    """path gets the file (or DIRECTORY), or is removed when that is None; `source` loses it at the same time."""

    path: str
    file: int | None
    source: str | None = None
    durable: bool = False

    def touches(self, folder: str) -> bool:
        return any(path is not None and _above(path) == folder for path in (self.path, self.source))


@dataclass
class Disk:
    files: list[File] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=lambda: {"": DIRECTORY})

    def cut(self, rng: random.Random, *, strict: bool) -> "Disk":
        """The disk as it may be found afterwards."""
        chance = rng.choice([0.0, 0.2, 0.5, 0.8, 1.0])
        kept = [step.durable or rng.random() < chance for step in self.steps]
        for number in reversed(range(len(kept))):
            if kept[number]:
                for needed in self._builds_on(number, strict=strict):
                    kept[needed] = True
        after = Disk(files=[File(self._content(file, rng)) for file in self.files])
        for step, keep in zip(self.steps, kept, strict=True):
            if keep:
                _apply(step, after.names)
        while lost := [path for path in after.names if path and _above(path) not in after.names]:
            for path in lost:
                del after.names[path]
        for file in after.files:
            file.synced = file.data
        return after

    def _builds_on(self, number: int, *, strict: bool) -> Iterator[int]:
        step = self.steps[number]
        for earlier in range(number):
            before = self.steps[earlier]
            if step.file not in (None, DIRECTORY) and before.file == step.file and step.source == before.path:
                yield earlier
            elif not strict and before.file == DIRECTORY and step.path.startswith(before.path + "/"):
                yield earlier

    def _content(self, file: File, rng: random.Random) -> bytes:
        if file.synced == file.data:
            return file.data
        torn = file.data[: rng.randrange(len(file.data) + 1)]
        return rng.choice([file.data, torn, b"", file.synced or b""])


class PowerFs:
    """The Fs of one process on such a disk. Before its call number `stop_at` it is cut off."""

    def __init__(self, disk: Disk, stop_at: int | None = None) -> None:
        self.disk = disk
        self.calls = 0
        self._stop_at = stop_at

    @contextmanager
    def _call(self, path: str) -> Iterator[None]:
        self.calls += 1
        if self._stop_at is not None and self.calls >= self._stop_at:
            raise Cut
        if self.disk.names.get(_above(path)) != DIRECTORY:
            raise FileNotFoundError(2, "No such file or directory", path)
        yield

    def _file(self, path: str) -> File:
        number = self.disk.names.get(path)
        if number is None:
            raise FileNotFoundError(2, "No such file or directory", path)
        if number == DIRECTORY:
            raise BadInput(f"{path} is a folder")
        return self.disk.files[number]

    def _step(self, path: str, file: int | None, source: str | None = None) -> None:
        step = Step(path, file, source)
        self.disk.steps.append(step)
        _apply(step, self.disk.names)

    def rename(self, source: str, target: str) -> None:
        with self._call(source):
            self._file(source)
            if _above(target) not in self.disk.names:
                raise FileNotFoundError(2, "No such file or directory", source, None, target)
            self._step(target, self.disk.names[source], source)

    def listdir(self, path: str) -> list[str]:
        with self._call(path):
            if self.disk.names.get(path) != DIRECTORY:
                raise FileNotFoundError(2, "No such file or directory", path)
            start = len(path) + 1
            return [name[start:] for name in self.disk.names if name and _above(name) == path]

    def read(self, path: str) -> bytes:
        with self._call(path):
            return self._file(path).data

    def write(self, path: str, data: bytes, *, sync: bool = False) -> None:
        with self._call(path):
            if path not in self.disk.names:
                self.disk.files.append(File(b""))
                self._step(path, len(self.disk.files) - 1)
            self._file(path).data = data
        if sync:
            with self._call(path):
                self._file(path).synced = data

    def publish(self, path: str, data: bytes, scratch: str) -> bool:
        self.write(scratch, data, sync=True)
        with self._call(path):
            if path in self.disk.names:
                return False
            self._step(path, self.disk.names[scratch], None)
        self.unlink(scratch)
        return True

    def unlink(self, path: str) -> None:
        with self._call(path):
            self._file(path)
            self._step(path, None)

    def mkdir(self, path: str) -> None:
        if _above(path) not in self.disk.names:
            self.mkdir(_above(path))
        with self._call(path):
            if path not in self.disk.names:
                self._step(path, DIRECTORY)

    def rmdir(self, path: str) -> None:
        if self.listdir(path):
            raise OSError(39, "Directory not empty", path)
        self._step(path, None)

    def exists(self, path: str) -> bool:
        self.calls += 1
        if self._stop_at is not None and self.calls >= self._stop_at:
            raise Cut
        return path in self.disk.names

    def times(self, path: str) -> tuple[float, float]:
        with self._call(path):
            if path not in self.disk.names:
                raise FileNotFoundError(2, "No such file or directory", path)
            return 1e9, 1e9

    def server_time(self, scratch: str) -> float:
        self.write(scratch, b"")
        return 1e9

    def sync_folder(self, path: str) -> None:
        with self._call(path):
            for step in self.disk.steps:
                step.durable |= step.touches(path)

    def sync_all(self, path: str) -> None:
        with self._call(path):
            for step in self.disk.steps:
                step.durable = True
            for file in self.disk.files:
                file.synced = file.data


def _above(path: str) -> str:
    return path.rpartition("/")[0]


def _apply(step: Step, names: dict[str, int]) -> None:
    if step.source is not None:
        names.pop(step.source, None)
    if step.file is None:
        names.pop(step.path, None)
    else:
        names[step.path] = step.file
