"""Specs that feed a queue: each is pushed once, whoever feeds, and its file says how it ended."""

import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import dibs
from dibs.errors import DibsError
from dibs.queues.queue import Queue
from dibs.queues.specs.queue import SpecsQueue
from dibs.serve.feeding import Feed, Feeding
from dibs.serve.house import House
from dibs.states import State
from waiting import until


def spec(folder: Path, name: str, *more: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text("\n".join(["---", "status: pending", *more, "---", f"# Do {name}", "", "Text."]))


@pytest.fixture
def folder(quick_folder: Path) -> Path:
    return quick_folder / "clone" / ".dibs" / "specs"


@pytest.fixture
def opened(folder: Path) -> Iterator[Callable[[Path], SpecsQueue]]:
    found: list[Queue] = []

    def one(where: Path = folder) -> SpecsQueue:
        queue = dibs.open(f"specs:{where}")
        assert isinstance(queue, SpecsQueue)
        found.append(queue)
        return queue

    yield one
    for queue in found:
        queue.close()


@pytest.fixture
def queue(quick_folder: Path) -> Iterator[Queue]:
    with dibs.open(f"file:{quick_folder}/q?sync=off") as queue:
        yield queue


Opened = Callable[..., SpecsQueue]


def test_what_is_ready_becomes_a_task_that_says_all_of_it(folder: Path, opened: Opened, queue: Queue) -> None:
    spec(folder, "auth", "priority: high", "labels: [backend]", "project: web", "max_attempts: 7")
    Feed(opened(), queue).round()
    (task,) = queue.tasks()
    assert (task.key, task.priority, task.labels, task.project) == ("auth", 100, ("backend",), "web")
    assert task.max_attempts == 7
    assert task.payload["spec"] == "auth"
    assert task.payload["title"] == "Do auth"
    assert "Text." in task.payload["body"]


def test_a_spec_is_pushed_once_though_many_feed_from_copies(
    folder: Path, quick_folder: Path, opened: Opened, queue: Queue
) -> None:
    for number in range(30):
        spec(folder, f"s{number}")
    copies = [quick_folder / f"copy{number}" / ".dibs" / "specs" for number in range(3)]
    for copy in copies:
        shutil.copytree(folder, copy)
    feeds = [Feed(opened(where), queue) for where in (folder, *copies)]
    start = threading.Barrier(len(feeds))

    def feed(one: Feed) -> None:
        start.wait()
        for _ in range(3):
            one.round()

    threads = [threading.Thread(target=feed, args=[one]) for one in feeds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(str(task.key) for task in queue.tasks()) == sorted(f"s{number}" for number in range(30))


def test_completed_in_the_queue_is_completed_in_the_file_and_frees_what_waited(
    folder: Path, opened: Opened, queue: Queue
) -> None:
    spec(folder, "first")
    spec(folder, "second", "depends_on: [first]")
    specs = opened()
    feed = Feed(specs, queue)
    feed.round()
    assert [task.key for task in queue.tasks()] == ["first"]
    lease = queue.claim()
    assert lease is not None
    lease.complete({"built": 1})
    feed.round()
    feed.round()
    assert "status: completed" in (folder / "first.md").read_text()
    assert specs.detail("first").result == {"built": 1}
    assert [task.key for task in queue.tasks("ready")] == ["second"]


@pytest.mark.parametrize("again", [False, True], ids=["by the same daemon", "by one that was started later"])
def test_failed_for_good_is_failed_in_the_file_and_not_pushed_again(
    folder: Path, opened: Opened, queue: Queue, again: bool
) -> None:
    spec(folder, "bad")
    specs = opened()
    feed = Feed(specs, queue)
    feed.round()
    lease = queue.claim()
    assert lease is not None
    lease.fail("it burns", retry=False)
    feed = Feed(specs, queue) if again else feed
    feed.round()
    assert specs.get("bad").state is State.FAILED
    assert specs.detail("bad").error == "it burns"
    Feed(specs, queue).round()
    assert queue.stats().total == 1


def test_retried_in_the_queue_goes_on_in_the_file(folder: Path, opened: Opened, queue: Queue) -> None:
    spec(folder, "bad")
    specs = opened()
    feed = Feed(specs, queue)
    feed.round()
    lease = queue.claim()
    assert lease is not None
    lease.fail("it burns", retry=False)
    feed.round()
    queue.retry("bad")
    feed.round()
    assert specs.get("bad").state is State.READY
    lease = queue.claim()
    assert lease is not None
    lease.complete()
    feed.round()
    assert specs.get("bad").state is State.COMPLETED
    assert queue.stats().total == 1


def test_cancelled_in_the_queue_is_cancelled_in_the_file(folder: Path, opened: Opened, queue: Queue) -> None:
    spec(folder, "unwanted")
    specs = opened()
    feed = Feed(specs, queue)
    feed.round()
    queue.cancel("unwanted")
    feed.round()
    assert specs.get("unwanted").state is State.CANCELLED


@pytest.mark.parametrize("how", ["done by hand", "cancelled by hand", "deleted"])
def test_what_is_taken_out_by_hand_is_run_by_nobody(folder: Path, opened: Opened, queue: Queue, how: str) -> None:
    spec(folder, "mine")
    feed = Feed(opened(), queue)
    feed.round()
    path = folder / "mine.md"
    if how == "deleted":
        path.unlink()
    else:
        status = "completed" if how.startswith("done") else "cancelled"
        path.write_text(path.read_text().replace("pending", status))
    feed.round()
    assert queue.get("mine").state is State.CANCELLED
    assert queue.claim() is None


def test_what_somebody_works_on_already_stays_his(folder: Path, opened: Opened, queue: Queue) -> None:
    spec(folder, "held")
    feed = Feed(opened(), queue)
    feed.round()
    lease = queue.claim()
    assert lease is not None
    (folder / "held.md").unlink()
    feed.round()
    lease.renew()
    lease.complete()
    assert queue.get("held").state is State.COMPLETED


def test_a_change_of_a_file_is_enough(folder: Path, quick_folder: Path, queue: Queue) -> None:
    import asyncio

    folder.mkdir(parents=True)
    logged: list[str] = []
    house = House([], log=logged.append)
    feeding = Feeding(
        "q", lambda: dibs.open(f"specs:{folder}"), lambda: dibs.open(f"file:{quick_folder}/q?sync=off"), every=3600.0
    )
    asyncio.run(feeding.start(house))
    try:
        for number in range(4):  # the first may be there at the start, the second when the watch begins
            spec(folder, f"s{number}")
            until(lambda number=number: queue.stats().total, equals=number + 1)  # type: ignore[misc]
    finally:
        feeding.close()
    assert logged == []


def test_trouble_is_said_once_and_tried_again(folder: Path, quick_folder: Path, queue: Queue) -> None:
    import asyncio

    logged: list[str] = []
    tries = 0
    spec(folder, "patient")

    def opening() -> Queue:
        nonlocal tries
        tries += 1
        if tries < 4:
            raise DibsError("the server is away")
        return dibs.open(f"file:{quick_folder}/q?sync=off")

    feeding = Feeding("q", lambda: dibs.open(f"specs:{folder}"), opening, every=0.01)
    asyncio.run(feeding.start(House([], log=logged.append)))
    try:
        until(lambda: queue.stats().total, equals=1)
    finally:
        feeding.close()
    assert logged == ["dibs: feeding q: the server is away"]
