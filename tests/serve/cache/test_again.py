"""Of a folder of which all but a few files are known, only those few are read; the result is as if all had been."""

import os
from pathlib import Path

import pytest

import dibs
from dibs.errors import StorageError
from dibs.queues.specs.queue import SpecsQueue
from dibs.serve.cache import again, listing
from dibs.serve.cache.again import FEW, all_again, some_again
from dibs.serve.cache.specs import KnownSpecs
from dibs.specs.cache import Snapshot
from dibs.specs.catalog import Catalog
from dibs.specs.reading import read_entries
from serve.cache.conftest import settle
from serve.cache.test_events import write_in_place

COUNT = 150
NOW = 4e9  # everything is long ago, so that stamps count at once


def page(priority: int, more: str = "") -> str:
    return f"---\nstatus: pending\npriority: {priority}\ndepends_on: [spec-000]\n---\n# One {more}\n"


@pytest.fixture
def seen(specs: Path) -> Snapshot:
    for number in range(COUNT):
        (specs / f"spec-{number:03}.md").write_text(page(number))
    return look(specs)


def look(folder: Path) -> Snapshot:
    class Later:
        def wall(self) -> float:
            return NOW

    return Catalog(str(folder), cache=None, clock=Later()).specs()._snapshot  # type: ignore[arg-type]


def same(one: Snapshot, other: Snapshot) -> None:
    def columns(snapshot: Snapshot) -> dict[str, object]:
        hot = zip(*snapshot.hot, strict=True)
        stamps = [snapshot.stamp(place) for place in range(len(snapshot))]
        return {name: values for name, *values in zip(snapshot.names, stamps, hot, snapshot.lines, strict=True)}

    assert columns(one) == columns(other)


def test_nothing_has_changed(seen: Snapshot, specs: Path) -> None:
    assert all_again(seen, str(specs), NOW) is seen


def test_some_were_written_in_place(seen: Snapshot, specs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counted(names: list[str], folder: int, now: float) -> object:
        read.extend(names)
        return read_entries(names, folder, now)

    monkeypatch.setattr(again, "read_entries", counted)
    changed = [f"spec-{number:03}.md" for number in (0, 63, 64, 70, COUNT - 1)]
    for name in changed:
        write_in_place(specs / name, page(7, "and more"))
    found = all_again(seen, str(specs), NOW)
    assert found is not None
    assert sorted(read) == changed
    same(found, look(specs))
    places = {name: place for place, name in enumerate(seen.names)}
    told = some_again(seen, str(specs), changed, places, NOW)
    assert told is not None
    same(told, look(specs))


def test_what_is_not_so_simple_is_left_to_others(seen: Snapshot, specs: Path) -> None:
    places = {name: place for place, name in enumerate(seen.names)}
    assert some_again(seen, str(specs), ["new.md"], places, NOW) is None
    assert some_again(seen, str(specs / "none"), ["spec-001.md"], places, NOW) is None
    assert all_again(seen, str(specs / "none"), NOW) is None
    (specs / "spec-001.md").unlink()
    assert some_again(seen, str(specs), ["spec-001.md"], places, NOW) is None
    assert all_again(seen, str(specs), NOW) is None
    (specs / "new.md").write_text(page(1))  # as many as before, and others
    assert all_again(seen, str(specs), NOW) is None


def test_many_changes_are_left_to_others(specs: Path) -> None:
    for number in range(FEW + 1):
        (specs / f"spec-{number:03}.md").write_text(page(1))
    seen = look(specs)
    for path in specs.iterdir():
        write_in_place(path, page(20))
    assert all_again(seen, str(specs), NOW) is None


def test_what_is_told_is_read_and_nothing_else(specs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        (specs / f"spec-{number}.md").write_text(page(number))
    with dibs.open(f"specs:{specs}", pid=None) as queue:
        assert isinstance(queue, SpecsQueue)
        known = KnownSpecs(queue)
        known.files.watched = True
        settle(str(specs))
        assert {task.priority for task in known.tasks()} == {0, 1, 2}
        assert known.stats().priorities.keys() == {0, 1, 2}
        monkeypatch.setattr(listing, "all_again", lambda *_: pytest.fail("every file was looked at"))
        write_in_place(specs / "spec-1.md", page(77))
        known.files.tell(["spec-1.md"])
        assert {task.priority for task in known.tasks()} == {0, 77, 2}
        assert known.stats().priorities.keys() == {0, 77, 2}


def test_what_was_told_is_not_forgotten_when_reading_fails(specs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (specs / "one.md").write_text(page(1))
    with dibs.open(f"specs:{specs}", pid=None) as queue:
        assert isinstance(queue, SpecsQueue)
        known = KnownSpecs(queue)
        known.files.watched = True
        settle(str(specs))
        assert [task.priority for task in known.tasks()] == [1]
        write_in_place(specs / "one.md", page(2))
        known.files.tell(["one.md"])

        def fail(*_: object) -> None:
            raise StorageError("the disk is away")

        with monkeypatch.context() as broken, pytest.raises(StorageError, match="away"):
            broken.setattr(listing, "some_again", fail)
            list(known.tasks())
        assert [task.priority for task in known.tasks()] == [2]


def test_a_folder_that_is_gone_and_comes_back(specs: Path) -> None:
    (specs / "one.md").write_text(page(1))
    with dibs.open(f"specs:{specs}", pid=None) as queue:
        assert isinstance(queue, SpecsQueue)
        known = KnownSpecs(queue)
        known.files.watched = True
        settle(str(specs))
        assert [task.priority for task in known.tasks()] == [1]
        os.rename(specs, f"{specs}-away")
        with pytest.raises(dibs.DibsError, match="no folder"):
            list(known.tasks())
        os.rename(f"{specs}-away", specs)
        assert [task.priority for task in known.tasks()] == [1]
