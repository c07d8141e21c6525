"""The queue over a store: one cell, its markers, and whoever finds them wrong."""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dibs.errors import FormatError, LeaseLost, StorageError, TaskNotFound
from dibs.queues.stored import StoredQueue
from dibs.queues.stored.cells import LONG_SECONDS
from dibs.queues.stored.layout import cell_key
from dibs.states import State
from dibs.stores.files import FileStore
from dibs.stores.memory import MemoryStore
from dibs.stores.store import Unsure
from dibs.task import Task


class Watched(MemoryStore):
    """Counts what is asked of it, and dies when told: every write after `writes_left` is lost with its process."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: Counter[str] = Counter()
        self.writes_left: int | None = None
        self.later = 0.0

    def now(self) -> float:
        return super().now() + self.later

    def get(self, key: str) -> Any:
        self.asked["get"] += 1
        return super().get(key)

    def list(self, prefix: str, start_after: str = "") -> Iterator[str]:
        self.asked["list"] += 1
        return super().list(prefix, start_after)

    def create(self, key: str, data: bytes) -> str:
        self._write("create")
        return super().create(key, data)

    def replace(self, key: str, data: bytes, version: str) -> str:
        self._write("replace")
        return super().replace(key, data, version)

    def delete(self, key: str) -> bool:
        self._write("delete")
        return super().delete(key)

    def _write(self, what: str) -> None:
        self.asked[what] += 1
        if self.writes_left is not None:
            if self.writes_left == 0:
                raise Died
            self.writes_left -= 1


class Died(BaseException):
    """The process is gone, in the middle of what it did."""


class Quick(StoredQueue):
    fresh_seconds = 0.0
    upkeep_seconds = 0.0
    asking_is_cheap = True


@pytest.fixture
def store() -> Watched:
    return Watched()


def open_queue(store: MemoryStore, **options: Any) -> StoredQueue:
    return Quick("test:", store, **options)


def markers(store: MemoryStore, task: Task) -> list[str]:
    return [key for key in store.list("") if task.id in key and not key.startswith("tasks/")]


def test_names_say_what_waits_and_who_holds_what(store: Watched) -> None:
    queue = open_queue(store)
    task = queue.push(1, priority="high")
    shard = task.id[-2:]
    seed = f"pending/0100/{shard}/{task.id}.100.0"
    assert [key for key in store.list("") if task.id in key] == [seed]
    lease = queue.claim()
    assert lease is not None
    assert markers(store, task) == [seed] and store.get(cell_key(task.id)) is not None
    lease.release()
    assert markers(store, task) == [f"pending/0100/{shard}/{task.id}.100.1"]
    lease = queue.claim()
    assert lease is not None
    assert markers(store, task) == [f"claimed/{shard}/{task.id}.100.2"]
    lease.complete()
    assert [key.split("/")[0] for key in markers(store, task)] == ["completed"]
    later = queue.push(2, delay=3600)
    assert markers(store, later)[0].startswith("scheduled/") and markers(store, later)[0].count("/") == 3
    waiting = queue.push(3, after=[later.id])
    assert {key.split("/")[0] for key in markers(store, waiting)} == {"blocked", "waits"}


def test_few_requests_per_step(store: Watched) -> None:
    class Usual(StoredQueue):
        pass

    queue = Usual("test:", store)
    queue.push_many(range(100))
    queue.claim()
    store.asked.clear()
    for number in range(50):
        queue.push(number)
    assert store.asked == {"create": 50}
    store.asked.clear()
    leases = [queue.claim() for _ in range(50)]
    asked = dict(store.asked)
    assert {name: asked[name] for name in asked if name != "list"} == {"get": 50, "create": 50}
    assert asked.get("list", 0) <= 6
    store.asked.clear()
    for lease in leases:
        assert lease is not None
        lease.complete()
    asked = dict(store.asked)
    assert (asked["replace"], asked["create"], asked["delete"]) == (50, 50, 50)
    assert asked.get("get", 0) == 0 and asked.get("list", 0) <= 1


STEPS = ["claim", "complete", "release", "fail", "cancel", "retry", "prioritise", "purge"]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("writes", range(4))
def test_who_dies_within_a_step_leaves_nothing_undone_for_long(store: Watched, step: str, writes: int) -> None:
    queue = open_queue(store, pid=None)
    task = queue.push(1, max_attempts=5, backoff=0.0)
    lease = None if step in ("claim", "cancel", "prioritise") else queue.claim(ttl=60)
    if step in ("retry", "purge"):
        assert lease is not None
        lease.complete() if step == "purge" else queue.cancel(task.id)
    acts: dict[str, Any] = {
        "claim": lambda: queue.claim(ttl=0.3),
        "complete": lambda: lease and lease.complete(),
        "release": lambda: lease and lease.release(),
        "fail": lambda: lease and lease.fail("no"),
        "cancel": lambda: queue.cancel(task.id),
        "retry": lambda: queue.retry(task.id),
        "prioritise": lambda: queue.set_priority(task.id, "high"),
        "purge": lambda: queue.purge(older_than=-1),
    }
    store.writes_left = writes
    try:
        acts[step]()
    except Died:
        pass
    store.writes_left = None
    other = open_queue(store)
    try:
        state = other.get(task.id).state
    except TaskNotFound:
        assert step == "purge"
        assert other.purge(older_than=-1) == 0
        assert [key for key in store.list("") if task.id in key] == []
        return
    if state is State.CLAIMED and step != "claim":
        assert lease is not None
        lease.release()
    found = other.claim(wait=60) if state not in (State.COMPLETED, State.CANCELLED) else None
    if found is not None:
        assert found.id == task.id
        found.complete()
    store.later = LONG_SECONDS + 1
    for kind in State:
        list(other.tasks(kind))
    assert len(markers(store, task)) == 1
    assert sum(other.stats().states.values()) == 1


@pytest.mark.parametrize("writes", [0, 1])
def test_a_push_that_died_half_way_is_finished_by_the_next_of_its_key(store: Watched, writes: int) -> None:
    queue = open_queue(store)
    store.writes_left = 1 + writes  # the key's cell, then the task's, then its marker
    with pytest.raises(Died):
        queue.push("first", key="a")
    store.writes_left = None
    pushed = queue.push("second", key="a")
    assert pushed.duplicate == (writes == 1)
    lease = queue.claim()
    assert lease is not None and lease.id == pushed.id
    assert queue.claim() is None


def test_a_late_helper_neither_revives_nor_hides_a_task(store: Watched) -> None:
    """It saw the task ready, slept, and now makes and deletes the markers of then."""
    queue = open_queue(store)
    task = queue.push(1, key="k")
    early = queue._cells.read(task.id)
    assert early is not None
    lease = queue.claim()
    assert lease is not None
    lease.release()
    queue._cells.ensure_marker(early)
    store.delete(early.marker)
    again = queue.claim()
    assert again is not None and again.epoch == 2
    again.complete()
    queue.purge(older_than=-1)
    queue._cells.store.create(early.marker, b"-\n")
    assert queue.claim() is None
    assert [key for key in store.list("") if task.id in key] == []


class Late(Watched):
    """Does something else just before it creates a cell."""

    meanwhile: Any = None

    def create(self, key: str, data: bytes) -> str:
        act, self.meanwhile = self.meanwhile, None
        if act is not None:
            act()
        return super().create(key, data)


@pytest.mark.parametrize("step", ["claim", "cancel", "prioritise"])
def test_a_first_step_that_comes_after_the_task_was_purged_is_undone(step: str) -> None:
    store = Late()
    queue, other = open_queue(store), open_queue(store)
    task = queue.push(1)

    def live_and_die() -> None:
        lease = other.claim()
        assert lease is not None
        lease.complete()
        assert other.purge(older_than=-1) == 1

    store.meanwhile = live_and_die
    if step == "claim":
        assert queue.claim() is None
    else:
        with pytest.raises(TaskNotFound):
            queue.cancel(task.id) if step == "cancel" else queue.set_priority(task.id, "high")
    assert [key for key in store.list("") if task.id in key] == []


def test_a_push_that_arrives_twice_runs_once(store: Watched) -> None:
    queue = open_queue(store)
    task = queue.push(1)
    seed = markers(store, task)[0]
    data = store.get(seed).data
    lease = queue.claim()
    assert lease is not None
    lease.complete()
    store.create(seed, data)
    assert queue.claim() is None
    assert markers(store, task)[0].startswith("completed/") and queue.stats().states["completed"] == 1


@pytest.mark.parametrize("priorities", [[], ["high"], ["high", "low"], ["high", "normal"]])
def test_a_seed_left_behind_goes_with_its_task(store: Watched, priorities: list[str]) -> None:
    """It is named by the priority that the task was pushed with, whichever it has since."""
    queue = open_queue(store)
    task = queue.push(1)
    seed = markers(store, task)[0]
    data = store.get(seed).data
    for priority in priorities:
        queue.set_priority(task.id, priority)
    lease = queue.claim()
    assert lease is not None
    lease.complete()
    store.create(seed, data)
    assert queue.purge(older_than=-1) == 1
    assert queue.claim() is None
    assert [key for key in store.list("") if task.id in key] == []


def test_foreign_and_damaged_objects_stop_nobody(store: Watched) -> None:
    queue = open_queue(store)
    damaged = queue.push("damaged")
    seed = markers(store, damaged)[0]
    store.replace(seed, b"{half", store.get(seed).version)
    keyed = queue.push("damaged too", key="k")
    entry = store.get(cell_key(keyed.id))
    store.replace(cell_key(keyed.id), b"{half", entry.version)
    for key in (
        "pending/.DS_Store",
        "pending/x/y",
        "pending/0050/zz/notes.txt",
        "claimed/junk",
        "scheduled/a/b/c",
        "README",
    ):
        store.create(key, b"x")
    good = queue.push("good")
    lease = queue.claim()
    assert lease is not None and lease.id == good.id
    lease.complete()
    assert queue.claim() is None
    assert queue.stats().states["completed"] == 1
    for key in ("pending/0050/zz/notes.txt", seed, cell_key(keyed.id)):
        assert store.get(key) is not None


def test_a_newer_format_is_refused(store: Watched) -> None:
    store.create("dibs.json", b'{"format": 99, "retention": 1}')
    with pytest.raises(FormatError, match="format 99"):
        open_queue(store)
    with pytest.raises(FormatError, match="no queue at"):
        open_queue(Watched(), create=False)


def test_a_large_payload_is_kept_apart(store: Watched) -> None:
    queue = open_queue(store)
    payload = {"text": "x" * 100_000}
    task = queue.push(payload)
    assert task.payload == payload and queue.get(task.id).payload == payload
    lease = queue.claim()
    assert lease is not None and lease.payload == payload
    lease.renew()
    entry = store.get(cell_key(task.id))
    assert len(entry.data) < 5000
    lease.complete()
    assert queue.purge(older_than=-1) == 1
    assert list(store.list("payloads/")) == []


def test_a_completion_whose_answer_was_lost_can_be_repeated(store: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = open_queue(store)
    task = queue.push(1)
    lease = queue.claim()
    assert lease is not None
    real = store.replace

    def lost(key: str, data: bytes, version: str) -> str:
        if store.get(key).version == version:
            real(key, data, version)
        raise Unsure("the answer was lost")

    monkeypatch.setattr(store, "replace", lost)
    with pytest.raises(StorageError):
        lease.complete("once")
    monkeypatch.undo()
    assert not lease.held
    lease.complete("once")
    assert queue.detail(task.id).result == "once"
    queue.push(2)
    other = queue.claim()
    assert other is not None
    other.complete()
    with pytest.raises(LeaseLost):
        queue.complete(other)


def test_processes_share_a_queue_of_files(tmp_path: Path) -> None:
    code = """
import sys
from dibs.queues.stored import StoredQueue
from dibs.queues.stored.cells import LONG_SECONDS
from dibs.stores.files import FileStore
queue = StoredQueue("test:", FileStore(sys.argv[1]))
for lease in queue.claims():
    print(lease.id)
    lease.complete()
"""
    queue = StoredQueue("test:", FileStore(str(tmp_path)))
    ids = [task.id for task in queue.push_many(range(60))]
    runs = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    taken = [line for run in runs for line in run.communicate()[0].split()]
    assert sorted(taken) == sorted(ids)
    assert queue.stats().states["completed"] == 60
