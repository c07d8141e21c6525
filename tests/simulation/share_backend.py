"""A folder of files as the queue, on a share whose clients remember for a while which file has a name.

Only an exclusive create asks the server for sure. What a file holds is always new: a lock, or opening it, makes it so.
"""

import os as real_os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dibs.stores.shared

from .directory_backend import DirectoryBackend
from .disk import File
from .system import Descriptor, Stat, System, _stat


class ShareSystem(System):
    """`os` on a client of the share."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._minds: dict[tuple[str, str], tuple[File, float]] = {}
        self._paths: dict[int, str] = {}

    def open(self, path: str, flags: int, mode: int = 0o777) -> int:
        if flags & real_os.O_CREAT:
            self._forget(path)
            descriptor = super().open(path, flags, mode)
        else:
            self._plain("open", path)
            file = None if path in self._disk.folders else self._named(path)
            self._next += 1
            descriptor = self._next
            self._open[descriptor] = Descriptor(file, self._world.current)
        self._paths[descriptor] = path
        return descriptor

    @contextmanager
    def open_file(self, file: str | int, mode: str = "r", buffering: int = -1, closefd: bool = True) -> Iterator[Any]:
        descriptor = self.open(file, real_os.O_RDONLY) if isinstance(file, str) else file
        try:
            with super().open_file(descriptor) as content:
                yield content
        finally:
            if descriptor != file:
                self.close(descriptor)

    def stat(self, path: str) -> Stat:
        if path.rstrip("/") in self._disk.folders:
            return super().stat(path)
        self._plain("stat", path)
        return _stat(self._named(path))

    def pread(self, descriptor: int, size: int, offset: int) -> bytes:
        self._plain("pread", str(descriptor))
        file = self._open[descriptor].file
        assert file is not None
        return file.data[offset : offset + size]

    def ftruncate(self, descriptor: int, length: int) -> None:
        file = self._open[descriptor].file
        assert file is not None and length == 0
        self._plain("ftruncate", str(descriptor))
        file.data = b""
        if file.nlink:
            self._disk.moved("", self._paths[descriptor], b"")

    def pwrite(self, descriptor: int, data: bytes, offset: int) -> int:
        file, path = self._open[descriptor].file, self._paths[descriptor]
        assert file is not None

        def act() -> None:
            file.data = data + file.data[len(data) :]
            file.mtime = self._world.now
            if file.nlink:
                self._disk.moved("", path, file.data)

        self._change("pwrite", path, act, OSError())
        return len(data)

    def rename(self, source: str, target: str) -> None:
        self._forget(source)
        self._forget(target)
        super().rename(source, target)

    def unlink(self, path: str) -> None:
        self._forget(path)
        super().unlink(path)

    def _named(self, path: str) -> File:
        world = self._world
        view = (world.current.host.name if world.current else "", path)
        file, until = self._minds.get(view, (None, 0.0))
        if file is not None and world.now < until:
            return file
        file = self._disk.file(path)
        if world.weather.stale:
            self._minds[view] = (file, world.now + world.weather.lag * world.random())
        return file

    def _forget(self, path: str) -> None:
        self._minds.pop((self._world.current.host.name if self._world.current else "", path), None)


class ShareBackend(DirectoryBackend):
    system_class = ShareSystem

    def seams(self) -> list[tuple[Any, str, Any]]:
        share = dibs.stores.shared
        patches = [*super().seams(), (share, "os", self._system), (share, "_opened", self._system.open_file)]
        patches.append((share, "FORGOTTEN_SECONDS", self._world.weather.lag * 1.1))
        return [*patches, (share, "on_share", lambda root: True)]
