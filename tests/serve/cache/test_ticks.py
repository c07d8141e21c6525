"""A file system whose clock is coarse: several changes leave the same times. What changed lately is not believed."""

import os
from pathlib import Path

import pytest

import dibs
from dibs.queues.files.queue import FilesQueue
from dibs.queues.specs.queue import SpecsQueue
from dibs.serve.cache import files, folders, listing
from dibs.serve.cache.files import KnownFiles
from dibs.serve.cache.folders import KnownFolders
from dibs.serve.cache.specs import KnownSpecs
from dibs.specs import cache


@pytest.fixture(autouse=True)
def _one_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that happens in this test has the same times, and happened lately however long it takes."""
    for module in (folders, files, listing):
        monkeypatch.setattr(module, "STAMP", lambda stat: (1,))
    for name in ("FINE_SECONDS", "COARSE_SECONDS"):
        monkeypatch.setattr(cache, name, 3600.0)


def test_listings(tmp_path: Path) -> None:
    known = KnownFolders()
    for number in range(20):
        (tmp_path / f"{number}").touch()
        assert sorted(known.listdir(str(tmp_path))) == sorted(os.listdir(tmp_path))


def test_tasks(tmp_path: Path) -> None:
    with dibs.open(f"file:{tmp_path}/q?sync=off", pid=None) as queue:
        assert isinstance(queue, FilesQueue)
        known = KnownFiles(queue)
        for number in range(20):
            queue.push({"n": 0})
            assert len(list(known.tasks())) == number + 1
        path = next((tmp_path / "q" / "pending").glob("*/*/*"))
        path.write_bytes(path.read_bytes().replace(b'"n":0', b'"n":1'))
        assert [task.payload["n"] for task in known.tasks()].count(1) == 1


def test_specs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    folder = tmp_path / ".dibs" / "specs"
    folder.mkdir(parents=True)
    with dibs.open(f"specs:{folder}", pid=None) as queue:
        assert isinstance(queue, SpecsQueue)
        known = KnownSpecs(queue)
        known.files.watched = True
        for number in range(20):
            (folder / f"spec-{number}.md").write_text("---\nstatus: pending\n---\n# One\n")
            assert len(list(known.tasks())) == number + 1


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    known = KnownFolders()
    (tmp_path / "a").mkdir()
    assert known.listdir(str(tmp_path / "a")) == []
    (tmp_path / "a").rmdir()
    with pytest.raises(FileNotFoundError):
        known.listdir(str(tmp_path / "a"))
    (tmp_path / "a").touch()
    with pytest.raises(NotADirectoryError):
        known.listdir(str(tmp_path / "a"))
