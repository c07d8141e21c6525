"""Pages that are kept: never older than a look at the files would be, whatever changed and however."""

import json
import os
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import dibs
from dibs.queues.files.parts import Parts
from dibs.queues.files.queue import FilesQueue
from dibs.serve.cache import pages as pages_module
from dibs.serve.cache.chosen import Chosen
from dibs.serve.cache.files import KnownFiles
from dibs.serve.cache.pages import Pages
from dibs.serve.cache.quiet import Quiet
from dibs.serve.cache.remembering import Remembering
from dibs.serve.cache.written import Written
from dibs.states import State
from serve.cache.conftest import settle
from serve.cache.test_same_answers import Doings
from serve.daemon import Daemon

SIZE = 5
ALL = Chosen()


@pytest.fixture
def queue(quick_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FilesQueue]:
    monkeypatch.setattr(pages_module, "trusted", lambda _: True)  # whatever the tests run on
    with dibs.open(f"file:{quick_folder}/q?sync=off&shards=4", pid=None) as queue:
        assert isinstance(queue, FilesQueue)
        yield queue


@pytest.fixture
def pages(queue: FilesQueue) -> Iterator[Pages]:
    made = Pages(KnownFiles(queue), Written(lasting=True))
    yield made
    made.close()


def shown(pages: Pages, chosen: Chosen) -> tuple[list[str], bool]:
    """What a daemon would answer, and whether it was kept."""
    known = pages.known(chosen, SIZE)
    page = known or pages.make(chosen, SIZE)
    return [task["id"] for task in json.loads(page.tasks)], known is not None


def keep(pages: Pages, chosen: Chosen = ALL) -> None:
    for _ in range(4):
        kept = shown(pages, chosen)[1]
    assert kept


@pytest.mark.parametrize("seed", [1, 2])
def test_random_steps_of_somebody_else(queue: FilesQueue, pages: Pages, seed: int) -> None:
    rng = random.Random(seed)
    kept = 0
    with dibs.open(queue.url) as other:
        doings = Doings(other, rng)
        lists = [ALL, *(Chosen(state=state) for state in State), Chosen(project="shop"), Chosen(labels=("eu",))]
        for _ in range(25):
            doings.some()
            if rng.random() < 0.3:
                settle(queue.root)
            for chosen in rng.sample(lists, 4) * 4:
                ids, was_kept = shown(pages, chosen)
                filters = {"project": chosen.project, "labels": chosen.labels}
                assert ids == [task.id for task in queue.tasks(chosen.state, **filters, limit=SIZE)], chosen
                kept += was_kept
    assert kept > 20


def in_place(root: Path) -> None:
    path = next((root / "pending").glob("*/*/*"))
    path.write_bytes(path.read_bytes().replace(b"before", b"later!"))


def unreadable(root: Path) -> None:
    path = next((root / "pending").glob("*/*/*"))
    path.write_bytes(b"{")


def gone(root: Path) -> None:
    next((root / "pending").glob("*/*/*")).unlink()


def another_queue(root: Path) -> None:
    root.rename(root.with_name("aside"))
    with dibs.open(f"file:{root}?sync=off&shards=4") as other:
        other.push({"name": "another"})


def another_folder_above(root: Path) -> None:
    root.parent.rename(root.parent.with_name("moved"))
    root.parent.mkdir()
    with dibs.open(f"file:{root}?sync=off&shards=4") as other:
        other.push({"name": "another"})


def another_level(root: Path) -> None:
    with dibs.open(f"file:{root}?sync=off&shards=4") as other:
        other.push({"name": "first"}, priority=9999)


@pytest.mark.parametrize("change", [in_place, unreadable, gone, another_queue, another_folder_above, another_level])
def test_whatever_is_done_to_the_files_is_seen_at_once(
    quick_folder: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None]
) -> None:
    monkeypatch.setattr(pages_module, "trusted", lambda _: True)
    root = quick_folder / "above" / "q"
    with dibs.open(f"file:{root}?sync=off&shards=4", pid=None) as queue:
        assert isinstance(queue, FilesQueue)
        pages = Pages(KnownFiles(queue), Written(lasting=True))
        queue.push({"name": "before"})
        settle(queue.root)
        keep(pages)
        change(root)
        assert pages.known(ALL, SIZE) is None
        page = json.loads(pages.make(ALL, SIZE).tasks)
        assert page == json.loads(json.dumps([task.to_json() for task in queue.tasks(limit=SIZE)]))
        pages.close()


def descriptors(queue: FilesQueue) -> int:
    """For watches, and for what is in the queue: those that earlier tests have left may be closed at any moment."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            found.append(os.readlink(f"/proc/self/fd/{name}"))
    return sum(link == "anon_inode:inotify" or link.startswith(queue.root) for link in found)


def test_where_no_watch_can_be_had_the_files_are_looked_at(
    queue: FilesQueue, pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(Quiet):
        def watch(self, folder: str) -> None:
            raise OSError(28, "no space left on device")

    monkeypatch.setattr(pages_module, "Quiet", Full)
    settle(queue.root)
    before = descriptors(queue)
    for number in range(3):
        for _ in range(5):
            assert shown(pages, ALL) == ([task.id for task in queue.tasks()], False)
        queue.push(number)
        settle(queue.root)
    assert descriptors(queue) == before


def test_a_change_while_a_page_is_made_is_not_missed(
    queue: FilesQueue, pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page is right for whoever asked; it is given to nobody else."""
    queue.push({"n": 1})
    settle(queue.root)
    shown(pages, ALL), shown(pages, ALL)
    made = pages._page

    def late(chosen: Chosen, size: int) -> object:
        page = made(chosen, size)
        queue.push({"n": 2})
        return page

    monkeypatch.setattr(pages, "_page", late)
    pages.make(ALL, SIZE)
    monkeypatch.setattr(pages, "_page", made)
    assert pages.known(ALL, SIZE) is None
    assert len(shown(pages, ALL)[0]) == 2


def test_a_kept_page_is_followed_by_the_rest(queue: FilesQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each task once, also when some of the page have moved on meanwhile."""
    url = queue.url
    daemon = Daemon(lambda: dibs.open(url, pid=None), beside=[Remembering()])
    try:
        with dibs.open(daemon.url) as remote:
            remote.push_many(range(12))
            settle(queue.root)
            everything = [task.id for task in queue.tasks()]
            ask = remote._connections.get  # type: ignore[attr-defined]
            for _ in range(4):
                first = ask("/tasks", page=SIZE)
            assert daemon.house.counters["q"]._pages._kept  # type: ignore[union-attr]
            queue.cancel(everything[0])
            second = ask("/tasks", page=SIZE, next=first["next"])
            third = ask("/tasks", page=SIZE, next=second["next"])
            ids = [task["id"] for page in (first, second, third) for task in page["tasks"]]
            assert ids == everything
            assert third["next"] is None
            assert ask("/tasks", page=SIZE, limit=SIZE)["next"] is None
            rest = ask("/tasks", page=SIZE, next=ask("/tasks", page=SIZE, limit=SIZE + 2)["next"])
            assert len(rest["tasks"]) == 2
            assert len(list(remote.tasks())) == 12
    finally:
        daemon.stop()


def test_no_descriptor_is_left(queue: FilesQueue, pages: Pages) -> None:
    before = descriptors(queue)
    for number in range(5):
        settle(queue.root)
        keep(pages)
        queue.push(number)
        assert shown(pages, ALL)[1] is False
    pages.close()
    assert descriptors(queue) == before


def test_a_page_ends_when_the_next_task_is_due(queue: FilesQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file changes then: time alone makes the list another one."""
    passed = [0.0]
    monkeypatch.setattr(Parts, "look_time", lambda parts: parts.store_time() + passed[0])
    monkeypatch.setattr(KnownFiles, "wall", lambda look: queue.clock.wall() + passed[0])
    pages = Pages(KnownFiles(queue), Written(lasting=True))
    later, last = (queue.push({"n": n}, delay=1000.0 * (n + 1)).id for n in range(2))
    ready, scheduled = Chosen(state="ready"), Chosen(state="scheduled")
    settle(queue.root)
    for seconds, due, ahead in [(0.0, [], [later, last]), (1010.0, [later], [last]), (2010.0, [later, last], [])]:
        passed[0] = seconds
        assert shown(pages, ready) == (due, False)
        assert shown(pages, scheduled) == (ahead, False)
        keep(pages, ready)
        keep(pages, scheduled)
        assert shown(pages, ready) == (due, True)
        assert shown(pages, scheduled) == (ahead, True)
    pages.close()


def test_a_task_that_is_due_before_the_next_is_not_overlooked(
    queue: FilesQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes in while the page is kept, in a folder of its own or beside one that is due later."""
    passed = [0.0]
    monkeypatch.setattr(Parts, "look_time", lambda parts: parts.store_time() + passed[0])
    monkeypatch.setattr(KnownFiles, "wall", lambda look: queue.clock.wall() + passed[0])
    pages = Pages(KnownFiles(queue), Written(lasting=True))
    queue.push({"n": "last"}, delay=90_000.0)
    for delay in (80_000.0, 79_990.0, 60.0):
        settle(queue.root)
        passed[0] = 0.0
        keep(pages, Chosen(state="ready"))
        sooner = queue.push({"n": "sooner"}, delay=delay).id
        passed[0] = delay + 5.0
        assert shown(pages, Chosen(state="ready"))[0] == [sooner]
        queue.cancel(sooner)
    pages.close()
