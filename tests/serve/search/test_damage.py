"""An index that is gone, damaged, old, or another's: made again from the queue, and never believed."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from children import environment
from dibs.errors import StorageError
from dibs.serve.search import index as indexes
from dibs.serve.search.asking import asked
from dibs.serve.search.index import Damaged, Index
from dibs.serve.search.shelf import Shelf, is_whole, place_of
from dibs.serve.search.words import of_task
from dibs.task import Task
from serve.search.conftest import Indexed

TASKS = 40


@pytest.fixture
def filled(indexed: Callable[..., Indexed]) -> Indexed:
    """With an index on disk, closed."""
    found = indexed()
    found.queue.push_many([{"n": number, "word": "needle"} for number in range(TASKS)])
    assert len(found.ids("needle")) == TASKS
    found.close()
    return found


def folder_of(found: Indexed) -> Path:
    place = place_of(found.queue.address)
    assert place is not None
    return Path(place) / "index"


def test_an_index_survives_a_restart(filled: Indexed, indexed: Callable[..., Indexed]) -> None:
    before = {path.name for path in folder_of(filled).iterdir()}
    again = indexed()
    assert len(again.ids("needle")) == TASKS
    assert {path.name for path in folder_of(filled).iterdir()} == before


def test_every_file_of_an_index_is_checked(filled: Indexed, indexed: Callable[..., Indexed]) -> None:
    """One bit is turned in the middle of each file, one file after another."""
    folder = folder_of(filled)
    kinds = {path.suffix for path in folder.iterdir()}
    assert kinds >= {".idx", ".term", ".store", ".fast", ".pos"}
    for kind in sorted(kinds - {"", ".lock", ".json"}):
        victim = next(path for path in folder.iterdir() if path.suffix == kind)
        data = bytearray(victim.read_bytes())
        data[len(data) // 2] ^= 0x10
        victim.write_bytes(data)
        assert not is_whole(str(victim))
        again = indexed()
        assert len(again.ids("needle")) == TASKS, kind
        again.close()
        assert all(is_whole(str(path)) for path in folder.iterdir())


@pytest.mark.parametrize("harm", ["garbage", "empty", "cut", "gone", "no meta", "not a folder", "version", "queue"])
def test_other_harm(filled: Indexed, indexed: Callable[..., Indexed], harm: str) -> None:
    folder = folder_of(filled)
    store = next(path for path in folder.iterdir() if path.suffix == ".store")
    label = folder.parent / "made.json"
    if harm == "garbage":
        (folder / "meta.json").write_bytes(os.urandom(300))
    elif harm == "empty":
        store.write_bytes(b"")
    elif harm == "cut":
        store.write_bytes(store.read_bytes()[:-20])
    elif harm == "gone":
        store.unlink()
    elif harm == "no meta":
        (folder / "meta.json").unlink()
    elif harm == "not a folder":
        shutil.rmtree(folder)
        folder.write_text("in the way")
    else:
        label.write_text(json.dumps({**json.loads(label.read_text()), harm: "another"}))
    again = indexed()
    assert len(again.ids("needle")) == TASKS
    assert len(again.ids("*")) == TASKS


def test_removed_underneath(indexed: Callable[..., Indexed]) -> None:
    found = indexed()
    found.queue.push({"word": "needle"})
    assert len(found.ids("needle")) == 1
    shutil.rmtree(folder_of(found))
    assert len(found.ids("needle")) == 1
    found.queue.push({"word": "needle"})
    assert len(found.ids("needle")) == 2
    assert found.said and "made again" in found.said[0]
    assert (folder_of(found) / "meta.json").exists()


def test_the_whole_cache_removed_underneath(indexed: Callable[..., Indexed], cache: Path) -> None:
    found = indexed()
    found.queue.push({"word": "needle"})
    assert len(found.ids("needle")) == 1
    shutil.rmtree(cache)
    found.queue.push({"word": "needle"})
    assert len(found.ids("needle")) == 2


def test_damaged_while_it_is_used(indexed: Callable[..., Indexed], monkeypatch: pytest.MonkeyPatch) -> None:
    found = indexed()
    found.queue.push({"word": "needle"})
    assert len(found.ids("needle")) == 1
    commit, failures = Index.commit, 1

    def failing(self: Index) -> None:
        nonlocal failures
        if failures:
            failures -= 1
            raise Damaged("on purpose")
        commit(self)

    monkeypatch.setattr(Index, "commit", failing)
    found.queue.push({"word": "needle"})
    assert len(found.ids("needle")) == 2
    assert found.shelf.held


def test_a_disk_that_takes_nothing(indexed: Callable[..., Indexed], monkeypatch: pytest.MonkeyPatch) -> None:
    """Then in memory; and if that does not help, it is said."""
    found = indexed()
    found.queue.push({"word": "needle"})
    commit = Index.commit
    fails_in_memory = False

    def failing(self: Index) -> None:
        if found.shelf.held or fails_in_memory:
            raise Damaged("No space left on device")
        commit(self)

    monkeypatch.setattr(Index, "commit", failing)
    assert len(found.ids("needle")) == 1
    assert not found.shelf.held
    fails_in_memory = True
    found.queue.push({"word": "needle"})
    with pytest.raises(StorageError, match="No space left"):
        found.ids("needle")


def test_a_panic_of_the_library_is_damage() -> None:
    class PanicException(BaseException):
        pass

    def panic() -> None:
        raise PanicException("assertion failed")

    with pytest.raises(Damaged, match="assertion failed"):
        indexes._guarded(panic)
    with pytest.raises(KeyboardInterrupt):
        indexes._guarded(lambda: (_ for _ in ()).throw(KeyboardInterrupt))


def test_a_second_one_keeps_its_own_in_memory(indexed: Callable[..., Indexed]) -> None:
    first, second = indexed(), indexed()
    assert (first.shelf.held, second.shelf.held) == (True, False)
    first.queue.push({"word": "needle"})
    assert len(first.ids("needle")) == len(second.ids("needle")) == 1
    second.queue.push({"word": "needle"})
    assert len(first.ids("needle")) == len(second.ids("needle")) == 2
    first.close()
    assert indexed().shelf.held


def test_one_that_was_killed_leaves_no_lock(indexed: Callable[..., Indexed], url: str, cache: Path) -> None:
    code = (
        "import dibs, os, sys\n"
        "from dibs.serve.search.shelf import Shelf, place_of\n"
        "queue = dibs.open(sys.argv[1])\n"
        "shelf = Shelf(place_of(queue.address), queue.address)\n"
        "index = shelf.open()\n"
        "assert shelf.held\n"
        "os.kill(os.getpid(), 9)\n"
    )
    env = {**environment(), "XDG_CACHE_HOME": str(cache.parent)}
    assert subprocess.run([sys.executable, "-c", code, url], env=env, check=False).returncode == -9
    found = indexed()
    assert found.shelf.held
    found.queue.push({"word": "needle"})
    assert len(found.ids("needle")) == 1


def test_without_a_cache_folder_it_is_in_memory(
    indexed: Callable[..., Indexed], monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    cache.parent.mkdir(parents=True, exist_ok=True)
    cache.write_text("in the way")
    found = indexed()
    assert not found.shelf.held
    found.queue.push({"word": "needle"})
    assert len(found.ids("needle")) == 1
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert place_of("file:x") is None
    assert not Shelf(None, "file:x").held


@pytest.mark.parametrize("where", ["disk", "memory"])
def test_nothing_is_seen_but_by_a_commit_of_ours(tmp_path: Path, where: str) -> None:
    """A reader that reloads by itself does so late, and may go back to what was before the last commit."""
    index = Index(str(tmp_path) if where == "disk" else None)
    index.put("", of_task(Task(id="1")))
    index._writer.commit()
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        assert index.search(asked("*")).total == 0
    index.commit()
    assert index.search(asked("*")).total == 1
