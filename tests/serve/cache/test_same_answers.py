"""Whatever was done, by whomever: what is remembered answers as the queue itself does, at once."""

import os
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import dibs
from dibs.errors import DibsError
from dibs.queues.files.queue import FilesQueue
from dibs.queues.held import Lease
from dibs.queues.queue import Queue
from dibs.queues.specs.queue import SpecsQueue
from dibs.serve.cache.files import KnownFiles
from dibs.serve.cache.looking import Looking
from dibs.serve.cache.specs import KnownSpecs
from dibs.states import State
from serve.cache.conftest import settle

ROUNDS = 25
PROJECTS, LABELS = (None, "shop", "site"), ("eu", "us", "bug")


class Doings:
    """Random steps of somebody else, by a queue of his own."""

    def __init__(self, queue: Queue, rng: random.Random) -> None:
        self._queue = queue
        self._rng = rng
        self._held: list[Lease] = []
        self._names: list[str] = []

    def some(self) -> None:
        for _ in range(self._rng.randrange(1, 6)):
            step = self._rng.choice([self._push, self._push, self._claim, self._end, self._steer])
            with suppress(DibsError):  # it was not the moment for that
                step()

    def _push(self) -> None:
        rng = self._rng
        key = f"task-{len(self._names):03}"
        labels = rng.sample(LABELS, rng.randrange(3))
        after = rng.sample(self._names, 1) if self._names and rng.random() < 0.3 else []
        delay = rng.choice([0, 0, 0, 1000])
        priority = rng.choice([0, 50, 100])
        project = rng.choice(PROJECTS)
        self._queue.push(
            {"n": key}, key=key, priority=priority, project=project, labels=labels, after=after, delay=delay,
            backoff=1000.0,
        )  # fmt: skip
        self._names.append(key)

    def _claim(self) -> None:
        self._held += self._queue.claim_many(self._rng.randrange(1, 4), ttl=600)

    def _end(self) -> None:
        if self._held:
            lease = self._held.pop(self._rng.randrange(len(self._held)))
            act: Callable[[], None] = self._rng.choice(
                [lease.complete, lease.complete, lease.release, lambda: lease.fail("no")]
            )
            act()

    def _steer(self) -> None:
        if self._names:
            name = self._rng.choice(self._names)
            self._rng.choice([self._queue.cancel, self._queue.retry])(name)


def same(known: Looking, queue: Queue) -> None:
    for state in (None, *State):
        assert [task.to_json() for task in known.tasks(state)] == [task.to_json() for task in queue.tasks(state)], state
    assert list(known.tasks(limit=3)) == list(queue.tasks(limit=3))
    for labels in ((), ("eu",), ("eu", "bug")):
        assert list(known.tasks(project="shop", labels=labels)) == list(queue.tasks(project="shop", labels=labels))
    assert known.stats() == queue.stats()
    assert [claim.id for claim in known.claimed()] == [claim.id for claim in queue.claimed()]


def play(known: Looking, queue: Queue, other: Queue, root: str, seed: int) -> None:
    rng = random.Random(seed)
    doings = Doings(other, rng)
    for _ in range(ROUNDS):
        doings.some()
        same(known, queue)
        if rng.random() < 0.4:
            settle(root)  # what is listed now is remembered
            same(known, queue)
            same(known, queue)


@pytest.mark.parametrize("seed", [1, 2])
def test_files(quick_folder: Path, seed: int) -> None:
    url = f"file:{quick_folder}/q?sync=off&shards=4"
    with dibs.open(url, pid=None) as queue, dibs.open(url) as other:
        assert isinstance(queue, FilesQueue)
        play(KnownFiles(queue), queue, other, f"{quick_folder}/q", seed)


@pytest.mark.parametrize("seed", [1, 2])
def test_specs(specs: Path, seed: int) -> None:
    url = f"specs:{specs}"
    with dibs.open(url, pid=None) as queue, dibs.open(url) as other:
        assert isinstance(queue, SpecsQueue)
        known = KnownSpecs(queue)
        known.files.watched = True  # and no event ever comes: dibs replaces files, and that shows in the folder's times
        play(known, queue, other, str(specs.parent), seed)


def test_a_task_that_is_changed_by_hand_is_read_again(quick_folder: Path) -> None:
    with dibs.open(f"file:{quick_folder}/q?sync=off", pid=None) as queue:
        assert isinstance(queue, FilesQueue)
        known = KnownFiles(queue)
        queue.push({"name": "before"})
        settle(str(quick_folder))
        assert [task.payload for task in known.tasks()] == [{"name": "before"}]
        path = next((quick_folder / "q" / "pending").glob("*/*/*"))
        path.write_bytes(path.read_bytes().replace(b"before", b"later!"))
        assert [task.payload for task in known.tasks()] == [{"name": "later!"}]


def test_what_is_put_away_meets_what_waits_for_it(specs: Path) -> None:
    """Straight into the archive: no name in the folder itself comes or goes."""
    with dibs.open(f"specs:{specs}", pid=None) as queue:
        assert isinstance(queue, SpecsQueue)
        known = KnownSpecs(queue)
        known.files.watched = True
        archive = specs.parent / "archive"
        archive.mkdir()
        (specs / "later.md").write_text("---\nstatus: pending\ndepends_on: [first]\n---\n# Later\n")
        settle(str(specs.parent))
        assert [task.state for task in known.tasks()] == [State.BLOCKED]
        (archive / "first.md").write_text("---\nstatus: completed\n---\n# First\n")
        assert [task.state for task in known.tasks()] == [State.READY]


def test_a_time_that_comes_needs_no_change(specs: Path) -> None:
    from dibs.clock import iso

    with dibs.open(f"specs:{specs}", pid=None) as queue:
        assert isinstance(queue, SpecsQueue)
        due = queue.store_time() + 0.3
        (specs / "soon.md").write_text(f"---\nstatus: pending\nnot_before: {iso(due)}\n---\n# Soon\n")
        known = KnownSpecs(queue)
        known.files.watched = True
        settle(str(specs))
        while queue.store_time() < due + 0.01:
            before, states, after = queue.store_time(), [task.state for task in known.tasks()], queue.store_time()
            if after < due - 0.01 or before > due + 0.01:
                assert states == [State.READY if before > due else State.SCHEDULED]
        assert [task.state for task in known.tasks()] == [State.READY]


def test_a_lock_of_another_tool_counts_while_it_is_there(specs: Path) -> None:
    """It says nothing in the file: only a name in the folder of locks comes and goes."""
    with dibs.open(f"specs:{specs}", pid=None) as queue:
        assert isinstance(queue, SpecsQueue)
        known = KnownSpecs(queue)
        known.files.watched = True
        (specs / "one.md").write_text("---\nstatus: pending\n---\n# One\n")
        lock = specs.parent / ".locks" / "one.pid"
        for _ in range(3):
            settle(str(specs.parent))
            assert [task.state for task in known.tasks()] == [State.READY]
            lock.write_text(f"{os.getpid()}\n")
            assert [task.state for task in known.tasks()] == [State.CLAIMED]
            lock.unlink()
