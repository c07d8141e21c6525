"""A disk whose rename lets two through when they contend, and the file queue on it: with markers it must hold.

A rename takes a while. If somebody else moved or removed its source while it was under way, it puts the file into its
place all the same: so do servers that look a name up, and change it later. One that begins afterwards finds nothing.
"""

import errno
import os
from collections.abc import Callable
from contextlib import suppress

from dibs.queues.files import FilesQueue
from dibs.queues.files.markers import Markers

from .disk import FOLDER, Disk, SimFs, split
from .files_backend import FilesBackend
from .truth import Truth
from .world import LATEST, LOST, REFUSED, STALE, VANISHED, Process, World


class LooseFs(SimFs):
    """What is sent arrives within LATEST seconds, whatever happens to the process: see `Process.sending`."""

    def __init__(
        self,
        world: World,
        disk: Disk,
        process: Process,
        left: dict[str, tuple[float, bytes]],
        wire: "Wire | None" = None,
    ) -> None:
        super().__init__(world, disk, process)
        self._left = left  # path -> when it was last moved away or removed, what it was
        self._wire = wire

    def rename(self, source: str, target: str) -> None:
        self._process.sending = True
        began = self._world.now
        if self._wire is not None:
            self._wire.send(self._process, lambda: self._rename(source, target, began))
        self._world.sleep(self._world.weather.latest * self._world.random())
        spoiled = self._point("rename", f"{source} -> {target}")
        self._process.sending = False
        if self._wire is not None:
            self._wire.arrived(self._process)
        if spoiled is None or spoiled is STALE:
            self._rename(source, target, began)
        else:
            self._spoil(spoiled, lambda: self._rename(source, target, began))

    def _rename(self, source: str, target: str, began: float) -> None:
        left, data = self._left.get(source, (0.0, b""))
        folder, name = split(source)
        there = self._disk.folders.get(folder, {}).get(name)
        if there is None and left > began and split(target)[0] in self._disk.folders:
            self._world.say("LET THROUGH")
            self._world.count("let through")
            self._disk.put(target, data)
            return
        data = self._disk.file(source).data if there is not FOLDER else b""
        self._disk.rename(source, target)
        self._left[source] = (self._world.now, data)

    def unlink(self, path: str) -> None:
        self._process.sending = True
        spoiled = self._point("unlink", path)
        self._process.sending = False
        if spoiled is None or spoiled is STALE:
            self._unlink(path)
        else:
            self._spoil(spoiled, lambda: self._unlink(path))

    def _unlink(self, path: str) -> None:
        data = self._disk.file(path).data
        self._disk.unlink(path)
        self._left[path] = (self._world.now, data)

    def mark(self, path: str, data: bytes) -> bool:
        spoiled = self._point("mark", path)
        folder, name = split(path)
        if spoiled is REFUSED:
            self._refuse(path)
        if folder not in self._disk.folders:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        if name in self._disk.folders[folder]:
            return False
        self._disk.put(path, data if self._world.random() < 0.9 else b"")
        if spoiled is LOST:
            self._refuse(path)
        if int(path.rpartition(".")[2]) > 1:
            self._world.count("taken over")
        return spoiled is not VANISHED


class Wire:
    """What somebody had sent who is dead by now arrives all the same."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._sent: dict[Process, tuple[float, Callable[[], None]]] = {}
        world.watchers.append(self._deliver)

    def send(self, process: Process, act: Callable[[], None]) -> None:
        self._sent[process] = (self._world.now + LATEST * self._world.random(), act)

    def arrived(self, process: Process) -> None:
        del self._sent[process]

    def _deliver(self) -> None:
        for process, (due, act) in list(self._sent.items()):
            if not process.alive and self._world.now >= due:
                del self._sent[process]
                self._world.say(f"what {process} had sent arrives")
                self._world.count("late")
                with suppress(FileNotFoundError):
                    act()


class LooseBackend(FilesBackend):
    """Without markers."""

    steps = "rename"

    def __init__(self, world: World, truth: Truth) -> None:
        super().__init__(world, truth)
        self._left: dict[str, tuple[float, bytes]] = {}
        self._options["steps"] = self.steps

    def fs(self, process: Process) -> SimFs:
        return LooseFs(self._world, self.disk, process, self._left)

    def in_the_way(self) -> list[Process]:
        """Whoever sleeps for ever with something sent is as good as dead."""
        return [process for process in self._world.processes if process.sending]


class MarkedBackend(LooseBackend):
    steps = "marker"

    def open(self, process: Process, *, pid: int | None = None) -> FilesQueue:
        queue = super().open(process, pid=pid)
        assert queue._parts.markers is not None
        in_haste(queue._parts.markers)
        return queue


def in_haste(markers: Markers) -> Markers:
    """Stale as soon as they may be, so that many are."""
    markers.give_up_seconds, markers.stale_seconds = 1.0, 1.0 + 1.1 * LATEST
    return markers
