"""Files that are written in place: seen by their events, or by looking where there are none."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import watchfiles

import dibs
from dibs.queues.specs.queue import SpecsQueue
from dibs.serve.cache import listing, watching
from dibs.serve.cache.specs import KnownSpecs
from dibs.serve.cache.watching import Watcher
from dibs.specs.cache import Snapshot
from serve.cache.conftest import settle
from waiting import until

BURST = 10_000 if os.environ.get("DIBS_LONG") else 2_000


class Watched:
    def __init__(self, folder: Path) -> None:
        queue = dibs.open(f"specs:{folder}", pid=None)
        assert isinstance(queue, SpecsQueue)
        self.queue = queue
        self.said: list[str] = []
        self.known = KnownSpecs(self.queue)
        self.watcher = Watcher(str(folder), self.known.files, self.said.append)

    def priorities(self) -> list[int]:
        return [task.priority for task in self.known.tasks()]

    def end(self) -> None:
        self.watcher.stop()
        self.watcher.join()
        self.queue.close()


@pytest.fixture
def watched(specs: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    monkeypatch.setattr(watching, "DOUBT_SECONDS", 1e9)  # nothing is seen but by what is told
    (specs / "one.md").write_text("---\npriority: 10\n---\n# One\n")
    found = Watched(specs)
    found.watcher.start()
    yield found
    found.end()


def write_in_place(path: Path, text: str) -> None:
    """As an editor that keeps the file: no name comes or goes."""
    with path.open("r+") as file:
        file.write(text)
        file.truncate()


def test_a_file_written_in_place_is_seen(watched: Watched, specs: Path) -> None:
    until(lambda: watched.known.files.watched, "the watch")
    settle(str(specs))
    assert watched.priorities() == [10]
    write_in_place(specs / "one.md", "---\npriority: 70\n---\n# One\n")
    until(lambda: watched.priorities(), "the change", equals=[70])


def test_nothing_is_read_while_nothing_happens(watched: Watched, specs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    until(lambda: watched.known.files.watched, "the watch")
    settle(str(specs))
    looks = 0
    look = listing.all_again

    def counted(*args: Any) -> Snapshot | None:
        nonlocal looks
        looks += 1
        return look(*args)

    monkeypatch.setattr(listing, "all_again", counted)
    watched.priorities()
    before = looks
    for _ in range(50):
        watched.priorities()
    assert looks - before <= 1  # the look when it has become quiet may fall into this
    write_in_place(specs / "one.md", "---\npriority: 70\n---\n# One\n")
    until(lambda: watched.priorities(), "the change", equals=[70])
    assert looks - before <= 2  # of one file that changed only that file is read


def test_a_burst_of_changes(watched: Watched, specs: Path) -> None:
    until(lambda: watched.known.files.watched, "the watch")
    for number in range(BURST):
        (specs / f"burst-{number:05}.md").write_text("---\npriority: 20\n---\n# Burst\n")
    assert len(watched.priorities()) == BURST + 1
    for number in range(BURST):
        write_in_place(specs / f"burst-{number:05}.md", "---\npriority: 30\n---\n# Burst\n")
    until(lambda: sorted(watched.priorities()), "all changes", equals=[10, *[30] * BURST])


def test_another_folder_in_its_place(watched: Watched, specs: Path) -> None:
    """A checkout may remove the folder and make it again: the watch is on the one that is gone."""
    until(lambda: watched.known.files.watched, "the watch")
    specs.rename(specs.parent / "old")
    specs.mkdir()
    (specs / "two.md").write_text("---\npriority: 20\n---\n# Two\n")
    assert watched.priorities() == [20]
    settle(str(specs))
    assert watched.priorities() == [20]
    write_in_place(specs / "two.md", "---\npriority: 99\n---\n# Two\n")
    until(lambda: watched.priorities(), "the change in the new folder", equals=[99])


def test_where_there_are_no_events_every_look_is_at_the_files(specs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (specs / "one.md").write_text("---\npriority: 10\n---\n# One\n")
    refuse = True
    real = watchfiles.watch

    def limited(*paths: Any, **options: Any) -> Any:
        if refuse:
            raise OSError(f"OS file watch limit reached. about {list(paths)}")
        return real(*paths, **options)

    monkeypatch.setattr(watchfiles, "watch", limited)
    monkeypatch.setattr(watching, "AGAIN_SECONDS", 0.05)
    found = Watched(specs)
    found.watcher.start()
    try:
        until(lambda: found.said, "the word")
        assert not found.known.files.watched
        archive = specs.parent / "archive" / "2026"
        archive.mkdir(parents=True)
        put_away = archive / "zero.md"
        (specs / "two.md").write_text("---\nstatus: pending\ndepends_on: [zero]\n---\n# Two\n")
        for status, count in (("failed", 0), ("completed", 1), ("failed", 0)):
            settle(str(specs.parent))
            put_away.touch()
            write_in_place(put_away, f"---\nstatus: {status}\n---\n# Zero\n")
            assert len([task for task in found.known.tasks("ready") if task.id == "two"]) == count
        (specs / "two.md").unlink()
        for priority in (20, 30, 40):
            settle(str(specs))
            write_in_place(specs / "one.md", f"---\npriority: {priority}\n---\n# One\n")
            assert found.priorities() == [priority]
        refuse = False
        until(lambda: len(found.said), "the second word", equals=2)
    finally:
        found.end()
    limit, back = found.said
    assert "no file events" in limit and "watch limit reached" in limit and "max_user_watches" in limit
    assert "are back" in back


def test_a_spec_that_was_put_away_is_changed_in_place(watched: Watched, specs: Path) -> None:
    archive = specs.parent / "archive" / "2026"
    archive.mkdir(parents=True)
    (archive / "zero.md").write_text("---\nstatus: failed\n---\n# Zero\n")
    (specs / "one.md").write_text("---\nstatus: pending\ndepends_on: [zero]\n---\n# One\n")
    until(lambda: watched.known.files.watched, "the watch")
    settle(str(specs.parent))
    states = [str(task.state) for task in watched.known.tasks()]
    assert states == ["blocked"]
    write_in_place(archive / "zero.md", "---\nstatus: completed\n---\n# Zero\n")
    until(lambda: [str(task.state) for task in watched.known.tasks()], "the change", equals=["ready"])
