"""Which steps reach the disk before they return, and in which order: seen at the real system calls."""

import os
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs.queues.files.fs import LocalFs
from disk.os_seam import told


class Recorder:
    """Syncs and renames by inode, so that a file is known under any name."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []

    def __call__(self, name: str, args: tuple[Any, ...]) -> None:
        if name == "fsync":
            self.events.append(("sync", os.fstat(args[0]).st_ino))
        elif name in ("rename", "link"):
            self.events.append(("name", os.stat(args[0]).st_ino, str(args[1])))

    @property
    def syncs(self) -> int:
        return sum(event[0] == "sync" for event in self.events)

    def named(self, part: str) -> int:
        """Index at which a file was given a name with this in it."""
        return next(number for number, event in enumerate(self.events) if event[0] == "name" and part in event[2])

    def check_durable(self, part: str) -> tuple[int, int]:
        """(content synced at, folder synced at) of the file named so; the one before its naming, the other after."""
        at = self.named(part)
        _, file, path = self.events[at]
        folder = os.stat(os.path.dirname(path)).st_ino
        content = [number for number in range(at) if self.events[number] == ("sync", file)]
        entry = [number for number in range(at, len(self.events)) if self.events[number] == ("sync", folder)]
        assert content, f"{part}: its content was not synced before it got its name"
        assert entry, f"{part}: its folder was not synced after it got its name"
        return content[0], entry[0]


@pytest.fixture
def url(tmp_path: Path) -> str:
    dibs.open(f"{tmp_path}/q?shards=1")
    return f"{tmp_path}/q"


@pytest.mark.parametrize("more", [{}, {"delay": 60.0}, {"after": ["x"]}, {"priority": 7}], ids=str)
def test_a_push_syncs_its_file_and_then_its_folder(url: str, more: dict[str, Any]) -> None:
    recorder = Recorder()
    with told(recorder):
        queue = dibs.open(url)
        for _ in range(2):  # the first makes the folders, the second finds them
            recorder.events.clear()
            recorder.check_durable(queue.push({"a": 1}, **more).id)


def test_what_a_task_leans_on_is_on_disk_before_the_task(url: str) -> None:
    recorder = Recorder()
    with told(recorder):
        task = dibs.open(url).push({"a": 1}, key="k", project="p", labels=["l"])
    placed = recorder.named(f"{task.id}.0.0.0")
    for part in ("/keys/", "/facets/"):
        _, entry = recorder.check_durable(part)
        assert entry < placed, f"{part} is synced only after the task got its place"


def test_a_large_batch_syncs_per_batch_not_per_task(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = []
    sync_all = LocalFs.sync_all
    monkeypatch.setattr(LocalFs, "sync_all", lambda fs, path: (whole.append(path), sync_all(fs, path)))
    with told(recorder := Recorder()):
        queue = dibs.open(url)
        for _ in range(2):  # the first makes the folders
            recorder.events.clear()
            whole.clear()
            queue.push_many([{"n": n} for n in range(1500)])
    assert 1 <= len(whole) <= 2
    assert recorder.syncs <= 10


def test_a_new_queue_is_synced_into_its_parent(tmp_path: Path) -> None:
    recorder = Recorder()
    with told(recorder):
        dibs.open(f"{tmp_path}/new/deep/q")
    recorder.check_durable("dibs.json")
    synced = {event[1] for event in recorder.events if event[0] == "sync"}
    for folder in (tmp_path, tmp_path / "new", tmp_path / "new/deep"):
        assert folder.stat().st_ino in synced


def test_leases_and_completions_are_not_synced(url: str) -> None:
    """Losing one in a power cut means running again, no more."""
    recorder = Recorder()
    with told(recorder):
        queue = dibs.open(url)
        queue.push_many([{"n": n} for n in range(8)])
        recorder.events.clear()
        for lease in queue.claim_many(4):
            lease.renew()
            lease.complete({"result": 1})
        lease = queue.claim()
        assert lease is not None
        lease.release()
        lease = queue.claim()
        assert lease is not None
        queue.handle(lease)
        lease.complete()
    assert recorder.syncs == 0
    assert recorder.events


def test_without_sync_nothing_is_synced(url: str) -> None:
    recorder = Recorder()
    with told(recorder):
        queue = dibs.open(f"{url}?sync=off")
        queue.push({"a": 1}, key="k", project="p")
        queue.push_many([{"n": n} for n in range(20)])
        queue.pause("x")
        queue.resume()
        lease = queue.claim()
        assert lease is not None
        lease.fail("no")
        queue.cancel(lease.id)
    assert recorder.syncs == 0
    assert recorder.events
