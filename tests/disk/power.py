"""A disk in memory that loses power: of what was not synced, any combination may be gone.

Every change of a folder is an operation. `sync_folder` makes the operations that touched that folder durable, a synced
write makes a file's content durable, `sync_all` everything. A cut keeps all that is durable, and any part of
the rest: operations in any combination, contents old, new, torn or empty. A rename is atomic, as file systems
with a journal have it. A file whose folder was never made durable is lost with it.

`strict` is a disk on which even a folder may be lost under a rename into it, as POSIX allows; otherwise an
operation that is kept keeps what it builds on, as every journal does.
"""

import random
from collections import defaultdict
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

    def __post_init__(self) -> None:
        self.folders = {_above(self.path)} | ({_above(self.source)} if self.source else set())


@dataclass
class Disk:
    files: list[File] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=lambda: {"": DIRECTORY})
    inside: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def do(self, step: Step) -> None:
        if step.source is not None:
            self._remove(step.source)
        if step.file is None:
            self._remove(step.path)
        else:
            self.names[step.path] = step.file
            self.inside[_above(step.path)].add(step.path)

    def _remove(self, path: str) -> None:
        self.names.pop(path, None)
        self.inside[_above(path)].discard(path)

    def cut(self, rng: random.Random, *, strict: bool) -> "Disk":
        """The disk as it may be found afterwards."""
        chance = rng.choice([0.0, 0.2, 0.5, 0.8, 1.0])
        kept = [step.durable or rng.random() < chance for step in self.steps]
        needed = self._builds_on(strict=strict)
        for number in reversed(range(len(kept))):
            if kept[number]:
                for earlier in needed[number]:
                    kept[earlier] = True
        after = Disk(files=[File(self._content(file, rng)) for file in self.files])
        for step, keep in zip(self.steps, kept, strict=True):
            if keep:
                after.do(step)
        while lost := [path for path in after.names if path and _above(path) not in after.names]:
            for path in lost:
                after._remove(path)
        for file in after.files:
            file.synced = file.data
        return after

    def _builds_on(self, *, strict: bool) -> list[list[int]]:
        """For each step the earlier ones without which it cannot have happened."""
        needed: list[list[int]] = []
        last: dict[tuple[str, int], int] = {}  # (path, file) -> the step that put it there
        for number, step in enumerate(self.steps):
            wanted = [] if strict else [(_above(step.path), DIRECTORY)]
            if step.source is not None and step.file is not None:
                wanted.append((step.source, step.file))
            needed.append([last[one] for one in wanted if one in last])
            if step.file is not None:
                last[step.path, step.file] = number
        return needed

    def _content(self, file: File, rng: random.Random) -> bytes:
        if file.synced == file.data:
            return file.data
        torn = file.data[: rng.randrange(len(file.data) + 1)]
        return rng.choice([file.data, torn, b"", file.synced or b""])


class PowerFs:
    """The Fs of one process on such a disk. Before the change or sync number `stop_at` it is cut off."""

    def __init__(self, disk: Disk, stop_at: int | None = None) -> None:
        self.disk = disk
        self.changes = 0
        self._stop_at = stop_at

    def _change(self, path: str) -> None:
        self.changes += 1
        if self._stop_at is not None and self.changes >= self._stop_at:
            raise Cut
        self._expect(_above(path))

    def _expect(self, folder: str) -> None:
        if self.disk.names.get(folder) != DIRECTORY:
            raise FileNotFoundError(2, "No such file or directory", folder)

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
        self.disk.do(step)

    def rename(self, source: str, target: str) -> None:
        self._change(source)
        self._file(source)
        self._expect(_above(target))
        self._step(target, self.disk.names[source], source)

    def listdir(self, path: str) -> list[str]:
        self._expect(path)
        start = len(path) + 1
        return [name[start:] for name in self.disk.inside[path]]

    def read(self, path: str) -> bytes:
        return self._file(path).data

    def write(self, path: str, data: bytes, *, sync: bool = False) -> None:
        self._change(path)
        if path not in self.disk.names:
            self.disk.files.append(File(b""))
            self._step(path, len(self.disk.files) - 1)
        self._file(path).data = data
        if sync:
            self._change(path)
            self._file(path).synced = data

    def publish(self, path: str, data: bytes, scratch: str) -> bool:
        self.write(scratch, data, sync=True)
        self._change(path)
        if path in self.disk.names:
            return False
        self._step(path, self.disk.names[scratch])
        self.unlink(scratch)
        return True

    def unlink(self, path: str) -> None:
        self._change(path)
        self._file(path)
        self._step(path, None)

    def mkdir(self, path: str) -> None:
        if _above(path) not in self.disk.names:
            self.mkdir(_above(path))
        if path not in self.disk.names:
            self._change(path)
            self._step(path, DIRECTORY)

    def rmdir(self, path: str) -> None:
        if self.listdir(path):
            raise OSError(39, "Directory not empty", path)
        self._change(path)
        self._step(path, None)

    def exists(self, path: str) -> bool:
        return path.rstrip("/") in self.disk.names

    def times(self, path: str) -> tuple[float, float]:
        if path not in self.disk.names:
            raise FileNotFoundError(2, "No such file or directory", path)
        return 1e9, 1e9

    def server_time(self, scratch: str) -> float:
        if scratch not in self.disk.names:
            self.write(scratch, b"")
        return 1e9

    def sync_folder(self, path: str) -> None:
        path = path.rstrip("/")
        self._expect(path)
        self._change(f"{path}/.")
        for step in self.disk.steps:
            step.durable |= path in step.folders

    def sync_all(self, path: str) -> None:
        self._change(f"{path}/.")
        for step in self.disk.steps:
            step.durable = True
        for file in self.disk.files:
            file.synced = file.data


def _above(path: str) -> str:
    return path.rpartition("/")[0]
