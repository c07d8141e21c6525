"""Which files are tasks in `dir:`, whatever they are called; where its own files go."""

import base64
import builtins
import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from directory_folder import OLD, Folder, drain

import dibs
from dibs.errors import BadInput, FormatError, StorageError, TaskNotFound
from dibs.states import State
from dibs.task import Task


@pytest.mark.parametrize("name", [".hidden", "a~", "b.tmp", "c.part", ".git/config", "sub/.x"])
def test_what_is_no_task(folder: Folder, name: str) -> None:
    folder.add(name)
    queue = folder.open()
    assert queue.claim() is None and queue.stats().total == 0


@pytest.mark.parametrize("where", ["?done={root}/in/out&leases={root}/in/leases", "?done={root}/elsewhere/out"])
def test_done_and_leases_may_be_anywhere(folder: Folder, tmp_path: Path, where: str) -> None:
    folder.add("a")
    folder.add("out.txt")
    queue = folder.open(where.format(root=tmp_path))
    assert set(drain(queue)) == {"a", "out.txt"}
    assert queue.stats().states["completed"] == queue.stats().total == 2


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("?color=red", "known: done, leases, settle"),
        ("?settle=soon", "settle=soon"),
        ("?settle=-1", "use seconds"),
        ("?max_attempts=0", "whole number from 1"),
        ("?max_runtime=0", "use seconds"),
        ("?done={root}/in", "three different folders"),
    ],
)
def test_bad_settings_are_refused(folder: Folder, tmp_path: Path, query: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        folder.open(query.format(root=tmp_path))


def test_a_folder_must_exist_and_go_on_existing(folder: Folder) -> None:
    with pytest.raises(BadInput, match="no folder"):
        dibs.open(f"dir:{folder.root}/nothing")
    queue = folder.open()
    folder.root.rename(folder.root.with_name("moved"))
    with pytest.raises(StorageError, match="in"):
        queue.claim()


def test_looking_makes_nothing(folder: Folder) -> None:
    folder.add("a")
    queue = folder.open(create=False)
    assert queue.get("a").state is State.READY
    assert queue.stats().states["ready"] == 1 and queue.claimed() == []
    assert not folder.leases.exists() and not folder.done.exists()


def test_a_newer_format_is_refused(folder: Folder) -> None:
    folder.open()
    (folder.leases / "dibs.json").write_text('{"format": 99, "retention": 1}')
    with pytest.raises(FormatError, match="format 99"):
        folder.open()


NAMES = [
    "plain", "with space", "100%", "%41", "%2541", "a%2Fb", "emoji 🦊", "line\nbreak", "tab\there", "back\\slash",
    "colon:star*", "CON", "-rf", "x.lease", "x", "x.json", "n" * 255, "é" * 127, "u\u0301", "dir/" * 40 + "deep",
]  # fmt: skip


def test_any_file_name_works(folder: Folder) -> None:
    for name in NAMES:
        folder.add(name, name)
    folder.add(os.fsdecode(b"\xff\xfe%FF"), "bytes")
    queue = folder.open()
    seen: dict[str, str] = {}
    leases = queue.claim_many(100)
    records = os.listdir(folder.leases)
    assert len([name for name in records if name.endswith(".lease")]) == len(leases) == len(NAMES) + 1
    for lease in leases:
        path = lease.payload["path"]
        if "path_base64" in lease.payload:
            path = os.fsdecode(base64.b64decode(lease.payload["path_base64"]))
        seen[lease.id] = Path(path).read_text()
        json.dumps(lease.payload).encode()
        lease.complete()
    assert sorted(seen.values()) == sorted([*NAMES, "bytes"])
    assert queue.claim() is None
    assert drain(folder.open()) == {}
    assert sorted(os.listdir(folder.root.parent)) == ["in", "in.done", "in.leases"]


@pytest.mark.parametrize(
    "ref", ["../secret", "/etc/passwd", "a/../../secret", "", ".", "a//b", "a\0b", "\ud800", "x" * 300]
)
def test_no_reference_leaves_the_folder(folder: Folder, ref: str) -> None:
    (folder.root.parent / "secret").write_text("s")
    with pytest.raises(TaskNotFound):
        folder.open().get(ref)


def test_links_to_files_are_tasks_and_links_to_folders_are_not_followed(folder: Folder, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("x")
    os.utime(tmp_path / "outside", (OLD, OLD))
    (folder.root / "link").symlink_to(tmp_path / "outside")
    (folder.root / "dangling").symlink_to(tmp_path / "nothing")
    (folder.root / "loop").symlink_to(folder.root)
    os.mkfifo(folder.root / "pipe")
    assert set(drain(folder.open())) == {"link"}


def test_limits_come_from_the_url(folder: Folder) -> None:
    folder.add("a")
    task: Task = folder.open("?max_attempts=7&max_deaths=2&max_runtime=9&backoff=3&max_backoff=4").get("a")
    limits = (task.max_attempts, task.max_deaths, task.max_runtime, task.backoff, task.max_backoff)
    assert limits == (7, 2, 9.0, 3.0, 4.0)


def test_a_very_deep_tree(folder: Folder) -> None:
    here = os.open(folder.root, os.O_RDONLY)
    for _ in range(400):
        os.mkdir("d", dir_fd=here)
        there = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = there
    os.close(os.open("file", os.O_CREAT, dir_fd=here))
    os.utime("file", (OLD, OLD), dir_fd=here)
    os.close(here)
    assert len(drain(folder.open())) == 1


def test_what_may_not_be_read_stops_nobody(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.add("a")
    folder.add("lost+found/b")
    queue = folder.open()
    (folder.leases / "theirs.lease").write_text("{}")
    real = os.scandir

    def scandir(path: str) -> Any:
        if "lost+found" in str(path):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    real_open = builtins.open

    def guarded(file: Any, *args: Any, **more: Any) -> Any:
        if str(file).endswith("theirs.lease"):
            raise PermissionError(errno.EACCES, "Permission denied", file)
        return real_open(file, *args, **more)

    monkeypatch.setattr(builtins, "open", guarded)
    assert drain(queue) == {"a": 1}
