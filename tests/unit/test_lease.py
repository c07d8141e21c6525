"""The lease protocol over a store in memory, with hosts, clocks and processes made by hand."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

import pytest

from dibs import states
from dibs.errors import BadInput
from dibs.host import Host
from dibs.lease import UNKNOWN_TTL, Held, Leases, Lost, Record, seen
from dibs.liveness import DRIFT, MARGIN_SECONDS, Holder, Watch
from dibs.states import State
from dibs.stores.memory import MemoryStore
from dibs.stores.store import Entry, Unsure
from dibs.task import decode

TTL = 60.0


class Clock:
    def __init__(self, boottime: float = 1000.0, wall: float = 1e9) -> None:
        self.now = boottime
        self.wall_offset = wall - boottime

    def boottime(self) -> float:
        return self.now

    def wall(self) -> float:
        return self.now + self.wall_offset

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class FakeHost(Host):
    dead: ClassVar[set[int]] = set()

    def process_gone(self, pid: int, start: str) -> bool:
        return pid in self.dead


class Counting(MemoryStore):
    """Counts writes; `on_write` may let time pass or lose the answer, before or after the write."""

    def __init__(self) -> None:
        super().__init__()
        self.writes = 0
        self.before: Callable[[], None] = lambda: None
        self.after: Callable[[], None] = lambda: None

    def replace(self, key: str, data: bytes, version: str) -> str:
        self.before()
        self.writes += 1
        new = super().replace(key, data, version)
        self.after()
        return new


class Place:
    """One host that uses the store."""

    def __init__(self, store: MemoryStore, clock: Clock, name: str = "a", boot: str = "boot-a") -> None:
        self.host = FakeHost(name, f"machine-{name}", boot, "space")
        self.host.dead.clear()
        self.clock = clock
        self.leases = Leases(store, clock=clock, rng=random.Random(1), watch=Watch(self.host, clock))
        self.count = 0

    def holder(self, pid: int | None = 1, ttl: float = TTL) -> Holder:
        self.count += 1
        worker = f"{self.host.name}-{pid}"
        return Holder(
            session=f"{worker}.{self.count}", worker=worker, host=self.host.name, machine=self.host.machine,
            boot=self.host.boot, space="space", pid=pid, ttl=ttl, beat=self.clock.boottime(), since=self.clock.wall(),
        )  # fmt: skip

    def acquire(self, pid: int | None = 1, ttl: float = TTL) -> Held | None:
        return self.leases.acquire("lock", self.holder(pid, ttl))

    def take(self, pid: int | None = 1, ttl: float = TTL) -> Held:
        held = self.acquire(pid, ttl)
        assert held is not None
        return held


@pytest.fixture
def store() -> Counting:
    return Counting()


@pytest.fixture
def place(store: Counting) -> Place:
    return Place(store, Clock())


def test_one_holds_and_the_epochs_go_on(place: Place) -> None:
    first = place.take(1)
    assert (first.epoch, first.deadline) == (1, place.clock.now + TTL)
    assert place.acquire(2) is None
    first.release()
    second = place.take(2)
    assert second.epoch == 2
    with pytest.raises(Lost) as lost:
        first.release()
    assert lost.value.now is not None and lost.value.now.cell.epoch == 2
    assert place.acquire(3) is None


def test_the_record_is_legible(place: Place, store: Counting) -> None:
    place.take(7)
    entry = store.get("lock")
    assert entry is not None
    record = decode(entry.data)
    assert record["state"] == "claimed" and record["epoch"] == 1 and record["worker_id"] == "a-7" and record["nonce"]
    assert record["heartbeat"] == "2001-09-09T01:46:40.000Z" and record["expiry"] == "2001-09-09T01:47:40.000Z"


def test_it_runs_out_at_its_ttl_and_not_before(place: Place) -> None:
    first = place.take(1)
    place.clock.now += TTL
    assert place.acquire(2) is None
    place.clock.now += 0.001
    second = place.take(2)
    assert (second.epoch, second.seen.record.cell.deaths) == (2, 1)
    assert not first.renew()
    with pytest.raises(Lost):
        first.step(lambda record: replace(record, cell=states.complete(record.cell)))
    assert second.refresh()


def test_a_dead_process_is_noticed_at_once(place: Place) -> None:
    place.take(1)
    assert place.acquire(2) is None
    place.host.dead.add(1)
    assert place.take(2).epoch == 2


def test_a_lease_of_no_process_has_only_its_ttl(place: Place) -> None:
    place.take(None)
    place.host.dead.add(1)
    assert place.acquire(2) is None
    place.clock.now += TTL + 1
    assert place.take(2).epoch == 2


def test_renewed_it_goes_on(place: Place) -> None:
    held = place.take(1)
    for _ in range(5):
        place.clock.now += TTL - 1
        assert held.renew()
        assert held.deadline == place.clock.now + TTL
        assert place.acquire(2) is None
    held.release()


def test_a_late_renewal_is_never_sent(place: Place, store: Counting) -> None:
    held = place.take(1)
    place.clock.now += TTL
    before = store.writes
    assert not held.renew()
    assert store.writes == before


def test_a_renewal_answered_after_the_deadline_does_not_count(place: Place, store: Counting) -> None:
    held = place.take(1)
    place.clock.now += TTL - 1
    deadline = held.deadline
    store.after = lambda: place.clock.sleep(2)
    assert not held.renew()
    assert held.deadline == deadline


def test_it_is_measured_from_before_it_was_sent(place: Place, store: Counting) -> None:
    held = place.take(1)
    store.after = lambda: place.clock.sleep(5)
    sent = place.clock.now
    assert held.renew()
    assert held.deadline == sent + TTL


@pytest.mark.parametrize("skew", [-3600.0, 0.0, 3600.0])
def test_another_host_watches_for_the_ttl_whatever_the_clocks_say(store: Counting, skew: float) -> None:
    here = Place(store, Clock())
    there = Place(store, Clock(boottime=77.0, wall=1e9 + skew), "b", "boot-b")
    held = here.take(1)
    for _ in range(3):
        assert there.acquire(2) is None
        there.clock.now += TTL
        here.clock.now += TTL - 1
        assert held.renew()
    assert there.acquire(2) is None
    there.clock.now += TTL * DRIFT + MARGIN_SECONDS
    assert there.acquire(2) is None
    there.clock.now += 0.001
    assert there.take(2).epoch == 2
    assert not held.renew()


def test_a_step_of_the_wall_clock_changes_nothing(place: Place) -> None:
    held = place.take(1)
    place.clock.wall_offset += 3600
    assert place.acquire(2) is None
    assert held.renew()
    place.clock.wall_offset -= 7200
    assert place.acquire(2) is None


def test_two_that_see_it_expired_do_not_both_take_it(place: Place, store: Counting) -> None:
    place.take(1)
    place.clock.now += TTL + 1
    taken: list[Held | None] = []

    def rival() -> None:
        store.before = lambda: None
        taken.append(place.acquire(2))

    store.before = rival
    taken.append(place.acquire(3))
    assert [held is not None for held in taken] == [True, False]


def test_a_renewal_that_arrives_first_defeats_the_takeover(place: Place, store: Counting) -> None:
    """The taker judged an old record; the holder renewed in time."""
    held = place.take(1)
    taker = Place(store, Clock(boottime=place.clock.now + TTL + 1), "a", "boot-a")

    def renew() -> None:
        store.before = lambda: None
        assert held.renew()

    store.before = renew
    assert taker.acquire(2) is None
    assert held.refresh()


@pytest.mark.parametrize("effect", [True, False])
def test_lost_answers_are_settled(place: Place, store: Counting, effect: bool) -> None:
    held = place.take(1)

    def lose() -> None:
        store.before = store.after = lambda: None
        raise Unsure("the answer was lost")

    for step in (held.renew, held.release):
        setattr(store, "after" if effect else "before", lose)
        step()
    found = place.leases.read("lock")
    assert found is not None and found.record.cell.state is State.READY
    assert place.take(2).epoch == 2


def test_an_answer_lost_for_good_is_remembered(place: Place, store: Counting) -> None:
    held = place.take(1)

    def lose() -> None:
        raise Unsure("the answer was lost")

    store.before = lose
    with pytest.raises(Unsure):
        held.release()
    assert held.unsure


def test_somebody_else_renews_for_the_holder(place: Place) -> None:
    held = place.take(1)
    found = place.leases.read("lock")
    assert found is not None
    guard = place.leases.held("lock", found)
    place.clock.now += TTL - 1
    assert guard.renew()
    place.clock.now += TTL - 1
    assert held.follow() and held.deadline == guard.deadline
    held.step(lambda record: Record(states.complete(record.cell), data={"result": 1}))
    assert not guard.renew()
    assert not held.follow()


def test_what_was_read_before_a_sleep_is_read_again(place: Place, store: Counting) -> None:
    held = place.take(1)
    guard = place.leases.held("lock", held.seen)
    real = store.get

    def slow(key: str) -> Entry | None:
        entry = real(key)
        store.get = real  # type: ignore[method-assign]
        for _ in range(2):
            place.clock.now += TTL - 1
            assert guard.renew()
        return entry

    store.get = slow  # type: ignore[method-assign]
    assert held.follow()
    assert held.deadline == guard.deadline
    place.clock.now += TTL
    assert not held.follow()


def test_it_is_not_renewed_past_its_limit(place: Place) -> None:
    holder = place.holder()
    record = Record(states.claim(states.Cell(State.READY), holder.session), holder, until=place.clock.now + 100)
    held = place.leases.held("lock", place.leases.create("lock", record))
    place.clock.now += 50
    assert held.renew()
    assert held.deadline == 1100 and held.seen.record.overrun
    place.clock.now += 49
    assert held.renew()
    assert held.deadline == 1100
    place.clock.now += 1
    assert not held.renew()
    assert place.acquire(2) is None
    place.clock.now += 0.1
    assert place.take(2).epoch == 2


@pytest.mark.parametrize("data", [b"{", b"[]", b'{"state": "claimed"}', b'{"state":"x","epoch":1}', b"\xff"])
def test_a_damaged_record_holds_for_a_while(place: Place, store: Counting, data: bytes) -> None:
    store.create("lock", data)
    with pytest.raises(BadInput):
        place.leases.read("lock")
    assert place.acquire(1) is None
    place.clock.now += UNKNOWN_TTL
    assert place.acquire(1) is None
    place.clock.now += 0.1
    assert place.take(1).epoch == 1


def test_every_record_is_unlike_any_other(place: Place, store: Counting) -> None:
    """Versions may be hashes of the bytes: then equal records would be equal versions."""
    held = place.take(1)
    bodies = set()
    for _ in range(10):
        entry = store.get("lock")
        assert entry is not None and seen(entry).record == held.seen.record
        bodies.add(entry.data)
        assert held.renew()
    assert len(bodies) == 10
