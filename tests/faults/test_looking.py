"""Looking needs no room on the disk and no right to write, also where it takes the store's clock to say what is due."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs.errors import StorageError
from dibs.queues.files.parts import Parts
from dibs.stores.memory import MemoryStore
from disk.os_seam import told


@pytest.mark.parametrize("near", [True, False], ids=["a disk", "a share"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT], ids=os.strerror)
def test_a_file_queue_is_shown_whatever_the_disk_refuses(
    quick_folder: Path, monkeypatch: pytest.MonkeyPatch, code: int, near: bool
) -> None:
    monkeypatch.setattr(Parts, "_near", near)

    def refuse(name: str, args: tuple[Any, ...]) -> None:
        raise OSError(code, os.strerror(code))

    with dibs.open(f"{quick_folder}/q?sync=off") as queue:
        task = queue.push("later", delay=1000)
        with told(refuse):
            assert queue.stats().states["scheduled"] == 1
            assert queue.get(task.id).state == "scheduled"
            assert [found.id for found in queue.tasks()] == [task.id]
            assert queue.detail(task.id).due is not None


def test_looking_leaves_no_trace(quick_folder: Path) -> None:
    def tree() -> dict[str, tuple[int, int]]:
        paths = [Path(folder) / name for folder, _, names in os.walk(quick_folder) for name in (".", *names)]
        return {str(path): (path.stat().st_mtime_ns, path.stat().st_ino) for path in paths}

    with dibs.open(f"{quick_folder}/q?sync=off") as queue:
        task = queue.push("later", delay=1000)
        before = tree()
        queue.stats(), queue.get(task.id), list(queue.tasks()), queue.detail(task.id)
        assert tree() == before


def test_a_store_that_may_only_be_read_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bucket is asked for its time by a write."""

    def refused(_: MemoryStore) -> float:
        raise StorageError("cannot read the clock of the bucket: forbidden; ask for the right to write")

    with dibs.open(f"memory:{tmp_path}") as queue:
        task = queue.push("later", delay=1000)
        monkeypatch.setattr(MemoryStore, "now", refused)
        assert queue.stats().states["scheduled"] == 1
        assert queue.get(task.id).state == "scheduled"
        assert [found.id for found in queue.tasks()] == [task.id]
