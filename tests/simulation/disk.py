"""A file system in memory, as one or several hosts see it.

Renames are atomic and have one winner. A host's listing of a folder may be old, and stay so for a while (a network file
system's cache): then it lacks what other hosts did to the folder. A call may fail after it took effect.
"""

import errno
import os
from collections.abc import Callable

from .world import LOST, REFUSED, STALE, VANISHED, Process, World

FOLDER = object()


class File:
    __slots__ = ("ctime", "data", "lock", "mtime", "nlink", "number")

    def __init__(self, data: bytes, now: float, number: int) -> None:
        self.data = data
        self.mtime = self.ctime = now
        self.number = number
        self.nlink = 0
        self.lock: object = None


Change = tuple[float, str, str, bool]  # when, by which host, name, was it there before
Folder = dict[str, object]


def split(path: str) -> tuple[str, str]:
    folder, _, name = path.rpartition("/")
    return folder, name


class Disk:
    """What is really there."""

    def __init__(self, world: World, root: str) -> None:
        self.world = world
        self.folders: dict[str, Folder] = {"": {"": FOLDER}}
        self.mtimes: dict[str, float] = {}
        self.inodes = 1
        self.log: dict[str, list[Change]] = {}
        self.frozen: dict[tuple[str, str], tuple[float, float]] = {}  # (host, folder) -> seen as of, until
        self.moved: Callable[[str, str, bytes], None] = lambda source, target, data: None  # the observer
        self.mkdir(root)

    def file(self, path: str) -> File:
        folder, name = split(path)
        entries = self.folders.get(folder)
        found = None if entries is None else entries.get(name)
        if found is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        if found is FOLDER:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        return found  # type: ignore[return-value]

    def mkdir(self, path: str) -> None:
        missing = []
        while path not in self.folders:
            missing.append(path)
            path = split(path)[0]
        for path in reversed(missing):
            folder, name = split(path)
            self.folders[path] = {}
            self._enter(folder, name, FOLDER)
            self.mtimes[path] = self.world.now

    def rmdir(self, path: str) -> None:
        entries = self.folders.get(path)
        if entries is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        if entries:
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)
        del self.folders[path]
        self._remove(*split(path))

    def put(self, path: str, data: bytes) -> None:
        folder, name = split(path)
        entries = self.folders.get(folder)
        if entries is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        self.inodes += 1
        self._enter(folder, name, File(data, self.world.now, self.inodes))
        self.moved("", path, data)

    def rename(self, source: str, target: str) -> None:
        file = self.file(source)
        into, name = split(target)
        if into not in self.folders:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), source)
        self._remove(*split(source))
        self._enter(into, name, file)
        file.ctime = self.world.now
        self.moved(source, target, file.data)

    def link(self, source: str, target: str) -> None:
        file = self.file(source)
        folder, name = split(target)
        if folder not in self.folders:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), source)
        if name in self.folders[folder]:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
        self._enter(folder, name, file)
        self.moved("", target, file.data)

    def unlink(self, path: str) -> None:
        data = self.file(path).data
        self._remove(*split(path))
        self.moved(path, "", data)

    def _enter(self, folder: str, name: str, what: object) -> None:
        entries = self.folders[folder]
        before = entries.get(name)
        if before is None:
            self._changed(folder, name, False)
        elif isinstance(before, File):
            before.nlink -= 1
        entries[name] = what
        if isinstance(what, File):
            what.nlink += 1

    def _remove(self, folder: str, name: str) -> None:
        before = self.folders[folder].pop(name)
        if isinstance(before, File):
            before.nlink -= 1
        self._changed(folder, name, True)

    def _changed(self, folder: str, name: str, before: bool) -> None:
        world = self.world
        self.mtimes[folder] = world.now
        if world.weather.stale:
            host = world.current.host.name if world.current else ""
            self.frozen.pop((host, folder), None)
            self.log.setdefault(folder, []).append((world.now, host, name, before))

    def listing(self, path: str, process: Process | None, *, stale: bool) -> list[str]:
        """What this process's host sees of the folder; `stale`: from now on, for a while, not the latest."""
        world = self.world
        view = (process.host.name if process else "", path)
        if stale:
            since = world.now - world.weather.lag * world.random()
            self.frozen[view] = (since, since + world.weather.lag)
        if view in self.frozen:
            since, until = self.frozen[view]
            if world.now < until:
                names = self.old_listing(path, view[0], since)
                world.say(f"old listing {names}")
                return names
            del self.frozen[view]
        return list(self.folders[path])

    def seen_mtime(self, path: str, process: Process | None) -> float:
        """A folder's time as this process's host sees it: as old as its listing."""
        host = process.host.name if process else ""
        since, until = self.frozen.get((host, path), (0.0, 0.0))
        if self.world.now >= until:
            return self.mtimes.get(path, 0.0)
        return max((when for when, who, _, _ in self.log.get(path, ()) if when < since or who == host), default=0.0)

    def old_listing(self, path: str, host: str, since: float) -> list[str]:
        """The folder as it was at `since`, but for what this host itself did to it."""
        names = dict.fromkeys(self.folders[path])
        for when, who, name, before in reversed(self.log.get(path, ())):
            if when < since:
                break
            if who == host:
                continue
            if before:
                names[name] = None
            else:
                names.pop(name, None)
        return list(names)


class SimFs:
    """The disk through the eyes and hands of one process."""

    def __init__(self, world: World, disk: Disk, process: Process) -> None:
        self._disk = disk
        self._point = world.point
        self._world = world
        self._process = process

    def rename(self, source: str, target: str) -> None:
        spoiled = self._point("rename", f"{source} -> {target}")
        if spoiled is None or spoiled is STALE:
            self._disk.rename(source, target)
        else:
            self._spoil(spoiled, lambda: self._disk.rename(source, target))

    def unlink(self, path: str) -> None:
        spoiled = self._point("unlink", path)
        if spoiled is None or spoiled is STALE:
            self._disk.unlink(path)
        else:
            self._spoil(spoiled, lambda: self._disk.unlink(path))

    def listdir(self, path: str) -> list[str]:
        spoiled = self._point("listdir", path)
        if path not in self._disk.folders:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        if spoiled is not None and spoiled is not STALE:
            self._refuse(path)
        return self._disk.listing(path, self._process, stale=spoiled is STALE)

    def read(self, path: str) -> bytes:
        self._plain("read", path)
        return self._disk.file(path).data

    def write(self, path: str, data: bytes, *, sync: bool = False) -> None:
        spoiled = self._point("write", path)
        if spoiled is None or spoiled is STALE:
            self._disk.put(path, data)
            return
        self._disk.put(path, data[: len(data) // 2] if spoiled is REFUSED else data)
        self._refuse(path)

    def publish(self, path: str, data: bytes, scratch: str) -> bool:
        self._plain("publish", path)
        folder, name = split(path)
        if name in self._disk.folders.get(folder, ()):
            return False
        self._disk.put(path, data)
        return True

    def mkdir(self, path: str) -> None:
        self._plain("mkdir", path)
        self._disk.mkdir(path)

    def rmdir(self, path: str) -> None:
        self._plain("rmdir", path)
        self._disk.rmdir(path)

    def exists(self, path: str) -> bool:
        self._plain("exists", path)
        folder, name = split(path)
        entries = self._disk.folders.get(folder)
        return entries is not None and name in entries

    def times(self, path: str) -> tuple[float, float]:
        self._plain("times", path)
        if path in self._disk.folders:
            return self._disk.mtimes[path], self._disk.mtimes[path]
        file = self._disk.file(path)
        return file.mtime, file.ctime

    def server_time(self, scratch: str) -> float:
        self._plain("server_time", scratch)
        return self._world.now

    def sync_folder(self, path: str) -> None:
        self._plain("sync_folder", path)
        path = path.rstrip("/")
        if path not in self._disk.folders:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)

    def sync_all(self, path: str) -> None:
        self._plain("sync_all", path)

    def _plain(self, what: str, path: str) -> None:
        spoiled = self._point(what, path)
        if spoiled is not None and spoiled is not STALE:
            self._refuse(path)

    def _spoil(self, spoiled: str, act: Callable[[], None]) -> None:
        if spoiled is not REFUSED:
            act()
        self._process.spoiled += 1
        self._world.say(f"answer: {spoiled}")
        if spoiled is VANISHED:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        assert spoiled in (LOST, REFUSED)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    def _refuse(self, path: str) -> None:
        self._process.spoiled += 1
        self._world.say("answer: refused")
        raise OSError(errno.EIO, os.strerror(errno.EIO), path)
