"""What is found is what is there now: whatever was done, and however long nobody looked."""

import random
import threading
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path

import pytest

import dibs
from dibs.errors import StorageError
from dibs.queues.files.parts import Parts
from dibs.queues.queue import Queue
from dibs.serve.search import words
from dibs.serve.search.from_files import FilesSource
from dibs.serve.search.from_scan import ScanSource
from dibs.serve.search.from_specs import SpecsSource
from dibs.serve.search.sources import Change
from dibs.states import State
from serve.cache.conftest import settle
from serve.cache.test_same_answers import Doings
from serve.search.conftest import Indexed
from waiting import PATIENCE

ROUNDS = 25


def same(found: Indexed, queue: Queue) -> None:
    there = {task.id: task for task in queue.tasks()}
    by_id = {task["id"]: task for task in found.find("*")}
    assert by_id.keys() == there.keys()
    for name, task in there.items():
        shown = by_id[name]
        assert (shown["state"], shown["priority"], shown["epoch"], shown["attempts"], shown["payload"]) == (
            task.state, task.priority, task.epoch, task.attempts, task.payload
        )  # fmt: skip
    for state in State:
        assert found.ids(f"state:{state}") == {task.id for task in queue.tasks(state)}
    assert found.ids("ready:true label:eu") == {task.id for task in queue.tasks("ready", labels=["eu"])}


@pytest.mark.parametrize(("kind", "source"), [("file", FilesSource), ("specs", SpecsSource), ("memory", ScanSource)])
def test_whatever_is_done(
    indexed: Callable[..., Indexed], url: str, specs: Path, tmp_path: Path, kind: str, source: type
) -> None:
    place = {"file": url, "specs": f"specs:{specs}", "memory": f"memory:{tmp_path}"}[kind]
    found = indexed(place)
    assert isinstance(found.source, source)
    rng = random.Random(7)
    with dibs.open(place) as other:
        doings = Doings(other, rng)
        for _ in range(ROUNDS):
            doings.some()
            same(found, other)
            if kind != "memory" and rng.random() < 0.3:
                settle(str(specs.parent.parent))
                same(found, other)
    assert not found.said


def test_purged_tasks_are_not_found(indexed: Callable[..., Indexed], url: str) -> None:
    found = indexed()
    with dibs.open(url) as other:
        for number in range(20):
            other.push({"n": number})
        other.complete_many(other.claim_many(10))
        assert len(found.ids("*")) == 20
        assert other.purge("completed", older_than=0) == 10
        assert len(found.ids("*")) == 10


def test_what_changed_while_nobody_looked(indexed: Callable[..., Indexed], url: str) -> None:
    """A daemon that was down: the index is that of before, and is brought in step."""
    first = indexed()
    with dibs.open(url) as other:
        tasks = other.push_many([{"n": number} for number in range(30)])
        assert len(first.ids("*")) == 30
        first.close()
        other.cancel(tasks[0].id)
        other.push({"word": "meanwhile"})
        other.complete_many(other.claim_many(5))
        other.purge("completed", older_than=0)
    second = indexed()
    assert second.shelf.held
    same(second, second.queue)
    assert len(second.ids("meanwhile")) == 1


def test_after_a_restart_only_what_changed_is_read(
    indexed: Callable[..., Indexed], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = indexed()
    first.queue.push_many([{"n": number} for number in range(50)])
    assert len(first.ids("*")) == 50
    first.close()
    first.queue.push({"n": "new"})
    second = indexed()
    read = 0
    changes = second.source.changes

    def counted(known):  # type: ignore[no-untyped-def]
        nonlocal read
        for change in changes(known):
            read += 1
            yield change

    monkeypatch.setattr(second.source, "changes", counted)
    assert len(second.ids("*")) == 51
    assert read == 1


def test_the_text_of_a_spec_is_found_and_followed(indexed: Callable[..., Indexed], specs: Path) -> None:
    (specs / "one.md").write_text("---\nlabels: [backend]\n---\n# Login page\n\nTokens expire after an hour.\n")
    found = indexed(f"specs:{specs}")
    assert found.ids("tokens label:backend status:pending") == {"one"}
    assert found.ids("title:login") == {"one"}
    (specs / "one.md").write_text("---\nlabels: [backend]\n---\n# Login page\n\nCookies expire after an hour.\n")
    assert found.ids("tokens") == set()
    assert found.ids("cookies") == {"one"}
    (specs / "one.md").unlink()
    assert found.ids("*") == set()


def test_what_becomes_ready_by_another_spec(indexed: Callable[..., Indexed], specs: Path) -> None:
    (specs / "first.md").write_text("---\nstatus: pending\n---\n# First\n")
    (specs / "second.md").write_text("---\ndepends_on: [first]\npriority: high\n---\n# Second\n")
    found = indexed(f"specs:{specs}")
    assert found.ids("status:pending AND ready:true") == {"first"}
    assert found.ids("status:pending AND ready:false") == {"second"}
    with dibs.open(f"specs:{specs}") as queue:
        lease = queue.claim()
        assert lease is not None
        assert found.ids("state:claimed status:in_progress") == {"first"}
        lease.complete()
    assert found.ids("status:pending AND ready:true") == {"second"}


def test_a_spec_that_cannot_be_read_is_left_out(indexed: Callable[..., Indexed], specs: Path) -> None:
    (specs / "bad.md").write_text("---\nstatus: [\n---\n# Bad\n")
    (specs / "good.md").write_text("---\nstatus: pending\n---\n# Good\n")
    assert indexed(f"specs:{specs}").ids("*") == {"good"}


def test_a_large_task_is_shown_whole(indexed: Callable[..., Indexed]) -> None:
    found = indexed()
    payload = {"text": "word " * words.MOST_STORED}
    found.queue.push(payload)
    assert [task["payload"] for task in found.find("word")] == [payload]


def test_a_queue_that_tells_nothing_is_scanned_not_too_often(indexed: Callable[..., Indexed]) -> None:
    found = indexed("memory:search", every=1000.0)
    found.queue.push("first")
    assert len(found.ids("first")) == 1
    found.queue.push("second")
    assert found.ids("second") == set()
    found.source.forget()
    assert len(found.ids("second")) == 1


def test_a_look_that_is_broken_off_is_made_up_for(
    indexed: Callable[..., Indexed], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was put before it broke off is found once it goes on."""
    found = indexed()
    found.queue.push_many([{"n": number} for number in range(10)])
    changes = found.source.changes

    def broken(known: Mapping[str, str]) -> Iterator[Change]:
        yield from islice(changes(known), 10)
        raise StorageError("the disk is away")

    monkeypatch.setattr(found.source, "changes", broken)
    with pytest.raises(StorageError, match="away"):
        found.ids("*")
    monkeypatch.undo()
    assert len(found.ids("*")) == 10


def test_whoever_asks_does_not_wait_for_who_takes_his_time(indexed: Callable[..., Indexed]) -> None:
    found = indexed()
    found.queue.push_many([{"n": number} for number in range(500)])
    slow = threading.Thread(target=lambda: found.keeping.keep(lambda: 1e-9))  # it would rest for years
    slow.start()
    assert len(found.ids("*")) == 500
    slow.join(PATIENCE)
    assert not slow.is_alive()


def test_what_is_due_is_found_as_ready(
    indexed: Callable[..., Indexed], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file has changed since it was found as scheduled."""
    passed = [0.0]
    monkeypatch.setattr(Parts, "look_time", lambda parts: parts.store_time() + passed[0])
    found = indexed()
    with dibs.open(url) as other:
        later, last = (other.push({"n": n}, delay=1000.0 * (n + 1)).id for n in range(2))
        times = [(0.0, set(), {later, last}), (1010.0, {later}, {last}), (2010.0, {later, last}, set())]
        for seconds, due, ahead in times:
            passed[0] = seconds
            for _ in range(3):
                settle(found.queue.root)
                assert found.ids("ready:true") == found.ids("state:ready") == due
                assert found.ids("state:scheduled") == ahead
        lease = other.claim()
        assert lease is None, "it is not due by the clock that counts"
