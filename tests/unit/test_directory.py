"""What only `dir:` does: a folder that stays as it is, and witnesses beside it."""

import json
import os

import pytest
from directory_folder import OLD, Folder, drain

from dibs.errors import StorageError, TaskNotFound
from dibs.states import State
from dibs.testing import ManualClock
from disk import store_time


def test_the_folder_is_never_touched(folder: Folder) -> None:
    for name in ("a.txt", "b/c.txt", "b/d/e", "f"):
        folder.add(name, name)
    before = folder.snapshot()
    queue = folder.open("?backoff=0&max_attempts=2")
    assert sorted(task.id for task in queue.tasks()) == ["a.txt", "b/c.txt", "b/d/e", "f"]
    first = queue.claim()
    assert first is not None
    first.release()
    failing = queue.claim()
    assert failing is not None
    failing.fail("no")
    assert set(drain(queue)) == {"a.txt", "b/c.txt", "b/d/e", "f"}
    queue.purge(older_than=0)
    assert folder.snapshot() == before
    assert {str(path.relative_to(folder.done)) for path in folder.done.rglob("*") if path.is_file()} == {
        "a.txt", "b/c.txt", "b/d/e", "f",
    }  # fmt: skip


def test_the_payload_says_where_the_file_is(folder: Folder) -> None:
    path = folder.add("b/c.txt", "12345")
    lease = folder.open().claim()
    assert lease is not None
    assert lease.id == "b/c.txt"
    assert lease.payload == {"path": str(path), "name": "b/c.txt", "size": 5}


def test_a_witness_tells_who_did_it(folder: Folder) -> None:
    folder.add("a")
    lease = folder.open().claim()
    assert lease is not None
    lease.complete({"lines": 3})
    record = json.loads((folder.done / "a").read_text())
    assert record["task"] == "a" and record["worker"] == lease.worker and record["epoch"] == 1
    assert record["result"] == {"lines": 3} and record["claimed_at"] <= record["completed_at"]


@pytest.mark.parametrize("content", ["", "anything", '{"half'])
def test_a_witness_that_was_there_before_counts(folder: Folder, content: str) -> None:
    folder.add("a")
    folder.add("b/c")
    path = folder.witness("b/c", content)
    queue = folder.open()
    assert queue.get("b/c").state is State.COMPLETED
    assert drain(queue) == {"a": 1}
    assert path.read_text() == content


def test_a_witness_made_by_the_task_itself_is_kept(folder: Folder) -> None:
    folder.add("a")
    queue = folder.open()
    lease = queue.claim()
    assert lease is not None
    path = folder.witness("a", "what the task was to make")
    lease.complete("done")
    assert path.read_text() == "what the task was to make"
    assert queue.detail("a").result == "done"


def test_something_else_in_the_place_of_the_witness_is_an_error(folder: Folder) -> None:
    folder.add("a")
    lease = folder.open().claim()
    assert lease is not None
    (folder.done / "a").mkdir(parents=True)
    with pytest.raises(StorageError, match="move it away"):
        lease.complete()
    (folder.done / "a").rmdir()
    lease.complete()


def test_removing_a_witness_makes_the_task_ready_at_a_higher_epoch(folder: Folder) -> None:
    folder.add("a")
    queue = folder.open()
    for epoch in (1, 2, 3):
        assert drain(queue) == {"a": epoch}
        assert queue.get("a").state is State.COMPLETED
        (folder.done / "a").unlink()
        assert queue.get("a").state is State.READY
    assert drain(folder.open()) == {"a": 4}


def test_a_claimer_with_an_old_listing_looks_for_the_witness_again(folder: Folder) -> None:
    for number in range(5):
        folder.add(str(number))
    queue, other = folder.open(), folder.open()
    first = queue.claim()
    assert first is not None
    assert len(drain(other)) == 4
    assert queue.claim() is None
    assert [name for name in os.listdir(folder.leases) if name.endswith(".lease")] == [f"{first.id}.lease"]


def test_files_added_later_are_tasks(folder: Folder) -> None:
    queue = folder.open()
    assert queue.claim() is None
    folder.add("a")
    folder.add("new/b")
    assert set(drain(queue)) == {"a", "new/b"}
    folder.add("new/c")
    assert set(drain(queue)) == {"new/c"}


def test_a_file_that_the_times_of_its_folder_do_not_tell_of_is_found_in_a_minute(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client of a share may list a folder as it was, and give the time that it has now."""
    folder.done.mkdir()
    clock = ManualClock()
    store_time.install(monkeypatch)
    os.utime(folder.root, (OLD, OLD))
    os.utime(folder.done, (OLD, OLD))
    queue = folder.open(clock=clock)
    assert queue.claim() is None
    folder.add("late")
    os.utime(folder.root, (OLD, OLD))
    clock.advance(30)
    assert queue.claim() is None, "the test shows nothing"
    clock.advance(31)
    lease = queue.claim()
    assert lease is not None
    assert lease.id == "late"


def test_a_removed_file_is_no_task(folder: Folder) -> None:
    path = folder.add("a")
    queue = folder.open()
    queue.get("a")
    path.unlink()
    assert queue.claim() is None
    with pytest.raises(TaskNotFound):
        queue.get("a")


def test_a_file_still_being_written_is_not_yet_a_task(folder: Folder) -> None:
    queue = folder.open("?settle=30")
    now = queue.store_time()
    path = folder.add("copying", mtime=now - 1)
    folder.add("from the future", mtime=now + 3600)
    assert drain(queue) == {"from the future": 1}
    assert queue.get("copying").state is State.SCHEDULED
    assert queue.why("copying").ready_at == pytest.approx(now + 29, abs=0.1)
    assert not list(folder.leases.glob("*.lease"))
    os.utime(path, (now - 31, now - 31))
    assert drain(queue) == {"copying": 1}


def test_by_default_a_file_settles_in_a_second_or_two(folder: Folder) -> None:
    queue = folder.open()
    folder.add("a", mtime=queue.store_time())
    assert queue.claim() is None
    lease = queue.claim(wait=60)
    assert lease is not None


def test_purge_forgets_only_files_that_are_gone(folder: Folder) -> None:
    path = folder.add("a")
    folder.add("b")
    queue = folder.open()
    drain(queue)
    assert queue.purge(older_than=0) == 0
    path.unlink()
    assert queue.purge(older_than=3600) == 0
    assert queue.purge(older_than=0) == 1
    assert sorted(os.listdir(folder.leases / "retired")) == ["b.json"]
