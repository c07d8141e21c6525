"""Keys, against a queue that is nothing but a dict of states, with a clock that only moves when somebody sleeps."""

import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from dibs.clock import SYSTEM
from dibs.errors import Refused, Unsupported
from dibs.host import Host, this_host
from dibs.keycell import cell_name
from dibs.keys import GRACE_SECONDS, LAG_SECONDS, Keys
from dibs.states import State
from dibs.stores.files import FileStore
from dibs.stores.memory import MemoryStore
from dibs.task import NewTask, Task, decode, make_task

ELSEWHERE = Host("other", "machine-2", "boot-2", "space-2")


class Clock:
    """`on_sleep` sees every nap: there a test lets somebody else act."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.on_sleep: Callable[[], None] = lambda: None

    def boottime(self) -> float:
        return self.now

    wall = boottime

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.on_sleep()


class Setup:
    def __init__(self) -> None:
        self.clock = Clock()
        self.store = MemoryStore(self.clock)
        self.tasks: dict[str, State] = {}

    def keys(self, host: Host | None = None) -> Keys:
        return Keys(self.store, clock=self.clock, rng=random.Random(1), host=host)

    def find(self, task_id: str) -> State | None:
        return self.tasks.get(task_id)

    def push(self, keys: Keys, key: str, task_id: str, unique: str = "live") -> str:
        owner = keys.acquire(key, task_id, unique, self.find)
        if owner == task_id:
            self.tasks[task_id] = State.READY
            assert keys.confirm(key, task_id) == task_id
        return owner


@pytest.fixture
def setup() -> Setup:
    return Setup()


def test_a_live_task_has_its_key(setup: Setup) -> None:
    keys = setup.keys()
    assert setup.push(keys, "a", "one") == "one"
    for state in (State.READY, State.SCHEDULED, State.BLOCKED, State.CLAIMED):
        setup.tasks["one"] = state
        assert setup.push(setup.keys(), "a", "two") == "one"
    assert keys.lookup("a") == "one"
    assert keys.lookup("b") is None
    assert setup.push(keys, "b", "three") == "three"


@pytest.mark.parametrize("state", [State.COMPLETED, State.FAILED, State.CANCELLED])
def test_a_task_that_ended_gives_its_key_up(setup: Setup, state: State) -> None:
    keys = setup.keys()
    setup.push(keys, "a", "one")
    setup.tasks["one"] = state
    keys.close("a", "one", state)
    entry = setup.store.get(cell_name("a"))
    assert entry is not None and decode(entry.data)["state"] == state
    held = setup.push(keys, "a", "two", unique="completed")
    assert held == ("one" if state is State.COMPLETED else "two")
    assert setup.push(keys, "a", "three") == ("three" if held == "one" else "two")


def test_a_pusher_that_is_slow_is_waited_for(setup: Setup) -> None:
    slow, second = setup.keys(), setup.keys()
    assert slow.acquire("a", "one", "live", setup.find) == "one"

    def appear() -> None:
        if setup.clock.now > 1005:
            setup.tasks["one"] = State.READY

    setup.clock.on_sleep = appear
    assert second.acquire("a", "two", "live", setup.find) == "one"
    assert 1005 < setup.clock.now < 1006
    assert slow.confirm("a", "one") == "one"


@pytest.mark.parametrize("host", [None, ELSEWHERE])
def test_a_task_that_never_appears_loses_its_key_after_the_grace(setup: Setup, host: Host | None) -> None:
    slow, second = setup.keys(host), setup.keys()
    slow.acquire("a", "one", "live", setup.find)
    assert second.acquire("a", "two", "live", setup.find) == "two"
    assert GRACE_SECONDS < setup.clock.now - 1000 < GRACE_SECONDS + 1
    setup.tasks["two"] = State.READY
    assert second.confirm("a", "two") == "two"
    setup.tasks["one"] = State.READY  # it wakes up and pushes
    assert slow.leftover("a", "one", setup.find)
    assert slow.confirm("a", "one") == "two"


def test_a_pusher_seen_to_be_dead_is_not_waited_for(setup: Setup) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    Keys(setup.store, clock=setup.clock, rng=random.Random(), process=lambda: dead.pid).acquire(
        "a", "one", "live", setup.find
    )
    assert setup.push(setup.keys(), "a", "two") == "two"
    assert setup.clock.now == 1000


def test_once_confirmed_no_late_taker_over_succeeds(setup: Setup) -> None:
    """The taker looked before the task appeared, and acts after it was confirmed."""
    slow, second = setup.keys(ELSEWHERE), setup.keys()
    slow.acquire("a", "one", "live", setup.find)
    setup.clock.now += GRACE_SECONDS + 1
    looks = 0

    def find(task_id: str) -> State | None:
        nonlocal looks
        looks += 1
        seen = setup.find(task_id)
        if looks == 1:
            setup.tasks["one"] = State.READY
            assert slow.confirm("a", "one") == "one"
        return seen

    assert second.acquire("a", "two", "live", find) == "one"
    assert slow.lookup("a") == "one"


def test_a_task_that_appears_during_the_takeover_gets_its_key_back(setup: Setup) -> None:
    slow, second = setup.keys(ELSEWHERE), setup.keys()
    slow.acquire("a", "one", "live", setup.find)
    setup.clock.now += GRACE_SECONDS + 1
    seen = []

    def find(task_id: str) -> State | None:
        seen.append(setup.find(task_id))
        setup.tasks["one"] = State.READY  # in place, not yet confirmed
        return seen[-1]

    assert second.acquire("a", "two", "live", find) == "one"
    assert seen == [None, State.READY]
    assert slow.confirm("a", "one") == "one"


def test_a_pusher_does_not_withdraw_for_a_task_that_does_not_exist(setup: Setup) -> None:
    """The taker-over dies between taking the cell and pushing: the first task must stay."""
    slow, second = setup.keys(ELSEWHERE), setup.keys(ELSEWHERE)
    slow.acquire("a", "one", "live", setup.find)
    setup.clock.now += GRACE_SECONDS + 1
    assert second.acquire("a", "two", "live", setup.find) == "two"
    setup.tasks["one"] = State.READY
    assert not slow.leftover("a", "one", setup.find)
    assert slow.confirm("a", "one") == "one"
    assert slow.lookup("a") == "one"
    setup.tasks["two"] = State.READY  # not dead, only slower still
    assert second.confirm("a", "two") == "one"


def test_a_task_that_a_listing_misses_for_a_moment_keeps_its_key(setup: Setup) -> None:
    keys = setup.keys()
    setup.push(keys, "a", "one")
    setup.clock.now += 3600
    looks = iter([None, None, State.READY])
    assert keys.acquire("a", "two", "live", lambda _: next(looks)) == "one"


def test_a_task_deleted_by_hand_gives_its_key_up(setup: Setup) -> None:
    keys = setup.keys()
    setup.push(keys, "a", "one")
    del setup.tasks["one"]
    assert setup.push(keys, "a", "two") == "two"
    assert LAG_SECONDS < setup.clock.now - 1000 < LAG_SECONDS + 1


def test_a_cell_that_says_completed_is_believed(setup: Setup) -> None:
    keys = setup.keys()
    setup.push(keys, "a", "one")
    keys.close("a", "one", State.COMPLETED)
    del setup.tasks["one"]
    assert setup.push(keys, "a", "two", unique="completed") == "one"
    assert setup.push(keys, "a", "three") == "three"


def test_a_broken_off_push_of_the_same_thread_is_no_obstacle(setup: Setup) -> None:
    keys = setup.keys()
    keys.acquire("a", "one", "live", setup.find)
    assert setup.push(keys, "a", "two") == "two"
    assert setup.clock.now == 1000


def test_a_batch(setup: Setup) -> None:
    keys = setup.keys()
    setup.push(keys, "taken", "zero")
    tasks = [_task("b"), _task("a"), _task("b"), _task(None), _task("taken")]
    owners = keys.acquire_many(tasks, setup.find)
    ids = [task.id for task in tasks]
    assert owners == {ids[0]: ids[0], ids[1]: ids[1], ids[2]: ids[0], ids[4]: "zero"}
    assert setup.clock.now == 1000


def test_a_batch_that_fails_gives_up_what_it_had(setup: Setup) -> None:
    keys = setup.keys()
    setup.push(keys, "z", "zero")

    def broken(_: str) -> State | None:
        raise RuntimeError("the disk is gone")

    names = sorted("abcdz", key=cell_name)
    with pytest.raises(RuntimeError):
        keys.acquire_many([_task(key) for key in "abcdz"], broken)
    left = [key for key in names if setup.store.get(cell_name(key))]
    assert left == ["z"] and names.index("z") > 0


def test_two_batches_in_opposite_orders_do_not_wait_for_each_other(tmp_path: Path) -> None:
    store = FileStore(str(tmp_path))
    tasks: dict[str, State] = {}
    words = [str(number) for number in range(20)]
    pushed: dict[str, int] = {}
    start = threading.Barrier(2)

    def push(order: list[str]) -> None:
        keys = Keys(store, clock=SYSTEM, rng=random.Random())
        batch = [_task(word) for word in order]
        start.wait()
        for task_id, owner in keys.acquire_many(batch, tasks.get).items():
            if owner == task_id:
                tasks[task_id] = State.READY
        for task in batch:
            if task.id in tasks:
                pushed[task.key or ""] = pushed.get(task.key or "", 0) + 1
                keys.confirm(task.key or "", task.id)

    threads = [threading.Thread(target=push, args=(order,)) for order in (words, words[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(GRACE_SECONDS / 2)
        assert not thread.is_alive()
    assert pushed == dict.fromkeys(words, 1)


def test_retry_takes_the_key_back_unless_another_lives(setup: Setup) -> None:
    keys = setup.keys()
    setup.push(keys, "a", "one")
    setup.tasks["one"] = State.FAILED
    keys.reopen("a", "one", setup.find)
    setup.tasks["one"] = State.READY
    assert keys.confirm("a", "one") == "one"
    setup.tasks["one"] = State.FAILED
    setup.push(keys, "a", "two")
    with pytest.raises(Refused, match="taken by live task two"):
        keys.reopen("a", "one", setup.find)
    setup.tasks["two"] = State.COMPLETED
    keys.reopen("a", "one", setup.find)
    assert keys.lookup("a") == "one"


def test_a_push_waits_for_a_retry_under_way(setup: Setup) -> None:
    keys = setup.keys()
    setup.push(keys, "a", "one")
    setup.tasks["one"] = State.FAILED
    keys.reopen("a", "one", setup.find)

    def retry() -> None:
        setup.tasks["one"] = State.READY

    setup.clock.on_sleep = retry
    assert setup.push(setup.keys(), "a", "two") == "one"
    assert keys.confirm("a", "one") == "one"


def test_a_retry_that_took_too_long_is_told(setup: Setup) -> None:
    keys = setup.keys()
    setup.push(keys, "a", "one")
    setup.tasks["one"] = State.FAILED
    keys.reopen("a", "one", setup.find)
    assert setup.push(setup.keys(), "a", "two") == "two"
    assert setup.clock.now > 1000 + GRACE_SECONDS
    setup.tasks["one"] = State.READY
    assert keys.confirm("a", "one") == "two"


def test_a_purged_task_takes_its_key_along_but_not_that_of_a_newer_one(setup: Setup) -> None:
    keys = setup.keys()
    setup.push(keys, "a", "one")
    setup.tasks["one"] = State.COMPLETED
    keys.forget("a", "one", setup.find)
    assert keys.lookup("a") is None
    assert setup.store.get(cell_name("a")) is None
    setup.push(keys, "a", "two")
    keys.forget("a", "one", setup.find)
    keys.close("a", "one", State.CANCELLED)
    assert keys.lookup("a") == "two"


@pytest.mark.parametrize("confirmed", [False, True])
def test_a_purger_frees_no_key_of_a_task_that_is_being_retried(setup: Setup, confirmed: bool) -> None:
    purger, retrier = setup.keys(), setup.keys()
    setup.push(purger, "a", "one")
    setup.tasks["one"] = State.CANCELLED  # here the purger has read the task, and sleeps
    retrier.reopen("a", "one", setup.find)
    if confirmed:
        setup.tasks["one"] = State.READY
        assert retrier.confirm("a", "one") == "one"
    purger.forget("a", "one", setup.find)
    setup.tasks["one"] = State.READY
    assert retrier.confirm("a", "one") == "one"
    assert setup.push(setup.keys(), "a", "two") == "one"


def test_a_completed_task_counts_though_another_came_after_it(setup: Setup) -> None:
    keys = setup.keys()
    setup.push(keys, "a", "one")
    setup.tasks["one"] = State.COMPLETED
    setup.push(keys, "a", "two")
    setup.tasks["two"] = State.CANCELLED
    assert setup.push(keys, "a", "three", unique="completed") == "one"
    keys.forget("a", "two", setup.find)
    assert keys.lookup("a") == "one"
    assert setup.push(keys, "a", "four", unique="completed") == "one"
    assert not keys.leftover("a", "five", setup.find)  # in doubt it runs
    setup.push(keys, "a", "six")
    setup.tasks["six"] = State.FAILED
    keys.reopen("a", "six", setup.find)
    setup.tasks["six"] = State.READY
    keys.confirm("a", "six")
    keys.forget("a", "one", setup.find)
    del setup.tasks["one"]
    setup.tasks["six"] = State.FAILED
    assert setup.push(keys, "a", "seven", unique="completed") == "seven"
    setup.tasks["seven"] = State.COMPLETED
    keys.forget("a", "seven", setup.find)
    assert setup.store.get(cell_name("a")) is None


def test_a_slow_helper_deletes_nothing_newer(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = setup.keys()
    setup.push(keys, "a", "one")
    setup.tasks["one"] = State.COMPLETED
    real = setup.store.delete_if

    def late(key: str, version: str) -> None:
        if "two" not in setup.tasks:
            setup.push(setup.keys(), "a", "two")
        real(key, version)

    monkeypatch.setattr(setup.store, "delete_if", late)
    keys.forget("a", "one", setup.find)
    assert keys.lookup("a") == "two"


def test_a_store_without_conditional_delete(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    def cannot(key: str, version: str) -> None:
        raise Unsupported("no conditional delete")

    monkeypatch.setattr(setup.store, "delete_if", cannot)
    keys = setup.keys()
    setup.push(keys, "a", "one")
    setup.tasks["one"] = State.COMPLETED
    keys.forget("a", "one", setup.find)
    assert keys.lookup("a") is None
    assert setup.push(keys, "a", "two") == "two"
    assert setup.clock.now == 1000


@pytest.mark.parametrize("data", [b"{", b"[]", b'{"id": 3}', b"\xff"])
def test_a_damaged_cell_is_taken_over(setup: Setup, data: bytes) -> None:
    setup.store.create(cell_name("a"), data)
    assert setup.keys().lookup("a") is None
    assert setup.push(setup.keys(), "a", "one") == "one"


@pytest.mark.parametrize("key", ["../../etc/passwd", "a/b", "CON", "x" * 1024, "🦊", "line\nbreak", ".", "~"])
def test_any_key_is_a_plain_file_inside(tmp_path: Path, key: str) -> None:
    keys = Keys(FileStore(str(tmp_path)), clock=SYSTEM, rng=random.Random(), host=this_host())
    assert keys.acquire(key, "one", "live", lambda _: None) == "one"
    assert keys.lookup(key) == "one"
    files = [path for path in (tmp_path / "keys").rglob("*") if path.is_file()]
    assert len(files) == 1 and decode(files[0].read_bytes())["key"] == key
    assert os.listdir(tmp_path.parent).count("etc") == 0


def _task(key: str | None) -> Task:
    return make_task(NewTask(key=key), SYSTEM, 0.0)
