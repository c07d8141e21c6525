"""A folder of files that is a queue, for the tests of `dir:`."""

import os
from pathlib import Path
from typing import Any

import dibs
from dibs.queues.directory import DirectoryQueue

OLD = 1_600_000_000


class Folder:
    """A folder of files, its queue, and what is beside it."""

    def __init__(self, root: Path) -> None:
        self.root = root / "in"
        self.done = root / "in.done"
        self.leases = root / "in.leases"
        self.root.mkdir()

    def add(self, name: str, content: str = "x", mtime: float = OLD) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        os.utime(path, (mtime, mtime))
        return path

    def open(self, query: str = "", **options: Any) -> DirectoryQueue:
        queue = dibs.open(f"dir:{self.root}{query}", **options)
        assert isinstance(queue, DirectoryQueue)
        return queue

    def witness(self, name: str, content: str = "") -> Path:
        path = self.done / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        return path

    def snapshot(self) -> dict[str, tuple[int, int, int, bytes]]:
        files = [path for path in self.root.rglob("*") if path.is_file()]
        return {
            str(path): (path.stat().st_ino, path.stat().st_mtime_ns, path.stat().st_ctime_ns, path.read_bytes())
            for path in files
        }


def drain(queue: DirectoryQueue) -> dict[str, int]:
    """Complete all that is ready; ids and epochs."""
    found = {}
    for lease in queue.claims():
        found[lease.id] = lease.epoch
        lease.complete()
    return found
