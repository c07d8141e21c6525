"""Mirror and manifest: lists of names that several processes share, over the memory store."""

import fcntl
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dibs.errors import BadInput, StorageError
from dibs.host import Host
from dibs.queues.objects.discovery import snapshot
from dibs.queues.objects.discovery.choice import Choice
from dibs.queues.stored import StoredQueue, discovery
from dibs.states import State
from dibs.testing import ManualClock
from dibs.testing.topics.hosts import FarClock
from objects.by_names import ByNames, Counting

Open = Callable[..., ByNames]
FAR = Host(name="far", machine="far-machine", boot="far-boot", space="pid:[9]")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def store(clock: ManualClock) -> Counting:
    return Counting(clock)


@pytest.fixture(params=["mirror", "manifest"])
def way(request: pytest.FixtureRequest, tmp_path: Path) -> Choice:
    return Choice("manifest") if request.param == "manifest" else Choice("mirror", f"{tmp_path}/m")


@pytest.fixture
def mirror(tmp_path: Path) -> Choice:
    return Choice("mirror", f"{tmp_path}/m")


@pytest.fixture
def opened(store: Counting, clock: ManualClock) -> Open:
    def opened(discover: Choice, **options: Any) -> ByNames:
        settings = {"clock": clock, "fresh": 30.0, "relist": 300.0, "idle": 35.0, "rng": random.Random(1), **options}
        return ByNames("memory:shared", store, discover=discover, **settings)

    return opened


def plain(store: Counting, clock: ManualClock, **options: Any) -> StoredQueue:
    return StoredQueue("memory:shared", store, clock=clock, **options)


def drain(queue: StoredQueue) -> list[str]:
    done = []
    while (lease := queue.claim()) is not None:
        lease.complete()
        done.append(lease.id)
    return done


def names_file(mirror: Choice) -> Path:
    (found,) = Path(mirror.where).glob("*/names")
    return found


def test_what_this_process_pushes_is_found_without_listing(way: Choice, store: Counting, opened: Open) -> None:
    queue = opened(way)
    assert queue.claim() is None
    store.asked.clear()
    urgent = [queue.push(1, priority=9).id, queue.push(2, priority=90, project="p").id, queue.push(3).id]
    taken = [queue.claim() for _ in range(3)]
    assert [lease.id for lease in taken if lease] == [urgent[1], urgent[2], urgent[0]]
    assert store.asked["list"] <= 2, "only upkeep may list"
    taken[0].release()  # type: ignore[union-attr]
    again = queue.claim(project="p")
    assert again is not None and again.id == urgent[1] and again.epoch == 2


@pytest.mark.parametrize("count", [200, 4000])
def test_a_claim_costs_the_same_in_a_longer_queue(way: Choice, store: Counting, opened: Open, count: int) -> None:
    opened(Choice()).push_many(range(count))
    queue = opened(way)
    queue._upkeep_at = float("inf")
    assert queue.claim() is not None
    store.asked.clear()
    for _ in range(100):
        assert queue.claim() is not None
    assert store.asked == {"put": 100, "get": 200}, "the cell; the seed, and whether the queue is paused"


def test_the_processes_of_a_host_share_one_mirror(mirror: Choice, store: Counting, opened: Open) -> None:
    opened(Choice()).push_many(range(300))
    workers = [opened(mirror) for _ in range(4)]
    for worker in workers:
        worker._upkeep_at = float("inf")
    store.asked.clear()
    leases = [worker.claim() for _ in range(75) for worker in workers]
    assert len({lease.id for lease in leases if lease}) == 300
    assert store.asked["list"] == 2, "one has listed for all"
    assert store.asked["put"] == 300, "no name was tried by two"


def test_one_listing_is_for_everybody_who_reads_the_manifest(store: Counting, opened: Open, clock: ManualClock) -> None:
    opened(Choice()).push_many(range(300))
    workers = [opened(Choice("manifest"), rng=random.Random(n)) for n in range(8)]
    for worker in workers:
        worker._upkeep_at = float("inf")
    store.asked.clear()
    leases = [worker.claim(ttl=3600) for _ in range(10) for worker in workers]
    assert len({lease.id for lease in leases if lease}) == 80
    assert store.asked["list"] == 2, "one has listed for all"
    clock.advance(31)
    for worker in workers:
        assert worker.claim(ttl=3600) is not None
    assert store.asked["list"] == 2, "it is not old yet"
    clock.advance(600)
    for worker in workers:
        assert worker.claim(ttl=3600) is not None
    assert store.asked["list"] == 4, "one has listed again"


def test_who_loses_the_race_for_the_manifest_uses_the_winners(store: Counting, opened: Open) -> None:
    opened(Choice()).push_many(range(20))
    first, second = opened(Choice("manifest")), opened(Choice("manifest"))
    seen = first._discovery._shelf.newest()  # type: ignore[attr-defined]
    assert seen is None
    shelf = second._discovery._shelf  # type: ignore[attr-defined]
    listed = snapshot.list_ready(store, random.Random(2), False)
    assert first.claim() is not None
    shelf._write(listed, store.now())  # as one who asked before the other wrote
    assert shelf.newest().size == 20
    assert json.loads(store._entries["names/ready"].data.split(b"\n")[0])["count"] == 20
    assert len(drain(second)) == 19


def test_what_a_task_costs_when_many_want_it(tmp_path: Path, store: Counting, opened: Open, clock: ManualClock) -> None:
    """Eight workers on one queue, in turn: claim, read, complete (two writes), and what they lose to each other."""
    costs = {}
    for way in (Choice(), Choice("manifest"), Choice("mirror", f"{tmp_path}/m"), Choice("queue", f"memory:{tmp_path}")):
        opened(way).push_many(range(400))
        workers = [opened(way, rng=random.Random(n)) for n in range(8)]
        for worker in workers:
            worker._upkeep_at = float("inf")
            worker._pausing.seen = lambda: False  # type: ignore[method-assign]
        store.asked.clear()
        done = 0
        while done < 400:
            for worker in workers:
                clock.advance(0.0625)
                if (lease := worker.claim()) is not None:
                    lease.complete()
                    done += 1
        costs[way.way] = store.asked.total() / 400
    assert costs["mirror"] <= 4.1 and costs["queue"] <= 4.1, costs
    assert costs["manifest"] <= 6.5 < costs["listing"], costs


def test_stale_names_neither_lose_nor_double_a_task(
    way: Choice, store: Counting, opened: Open, clock: ManualClock
) -> None:
    """Everything that the list names is taken by another host, which does not share it."""
    far = plain(store, FarClock(clock, 3600.0), host=FAR, retention=0)
    here = opened(way)
    ids = {task.id for task in far.push_many(range(400))}
    first = here.claim()
    assert first is not None
    first.complete()
    taken = drain(far)
    ids |= (late := {task.id for task in far.push_many(range(50))})
    store.asked.clear()
    done = drain(here)
    assert set(done) == late and len(done) == 50
    assert store.asked["put"] < 50 * 2 + 100, "it went through the whole of a list that was gone"
    everything = [first.id, *taken, *done]
    assert len(everything) == len(set(everything)) == 450 and set(everything) == ids
    assert far.stats().states[State.COMPLETED] == 450


def test_a_more_urgent_task_from_elsewhere_is_noticed_in_time(
    way: Choice, store: Counting, opened: Open, clock: ManualClock
) -> None:
    far = plain(store, clock, host=FAR)
    far.push_many(range(50))
    here = opened(way)
    assert here.claim() is not None
    urgent = far.push("now", priority="critical")
    clock.advance(400)
    lease = here.claim()
    assert lease is not None and lease.id == urgent.id


def test_who_finds_nothing_lists_at_its_own_pace(
    way: Choice, store: Counting, opened: Open, clock: ManualClock
) -> None:
    workers = [opened(way) for _ in range(8)]
    for worker in workers:
        assert worker.claim() is None
    task = plain(store, clock, host=FAR).push(1)
    store.asked.clear()
    assert all(worker.claim() is None for worker in workers)
    clock.advance(35)
    found = [lease for worker in workers if (lease := worker.claim()) is not None]
    assert [lease.id for lease in found] == [task.id]


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "MOST", 50)
    monkeypatch.setattr(discovery, "PAGE", 20)


def test_of_a_long_queue_every_part_has_its_turn(store: Counting, opened: Open, short: None) -> None:
    opened(Choice()).push_many(range(300))
    first = {tuple(snapshot.list_ready(store, random.Random(seed), False).keys) for seed in range(20)}
    assert len(first) == 1
    later = [snapshot.list_ready(store, random.Random(seed), True).keys for seed in range(60)]
    assert len({key for keys in later for key in keys}) == 300 and {len(keys) for keys in later} == {50}


def test_what_is_pushed_here_and_is_more_urgent_than_the_list_comes_first(way: Choice, opened: Open) -> None:
    opened(Choice()).push_many(range(5))
    queue = opened(way)
    assert queue.claim() is not None
    less, more = queue.push(1, priority=49), queue.push(2, priority=51)
    taken = [lease.id for lease in queue.claim_many(9)]
    assert len(taken) == 6 and (taken[0], taken[-1]) == (more.id, less.id)


def test_a_manifest_that_somebody_else_made_is_read_in_time(store: Counting, opened: Open, clock: ManualClock) -> None:
    opened(Choice()).push_many(range(9))
    first, second = opened(Choice("manifest")), opened(Choice("manifest"), relist=1.0)
    assert first.claim(ttl=3600) is not None
    urgent = {opened(Choice()).push(n, priority="high").id for n in range(2)}
    clock.advance(31)
    leases = [second.claim()]
    first._upkeep_at = float("inf")
    store.asked.clear()
    leases.append(first.claim())
    assert {lease.id for lease in leases if lease} == urgent
    assert store.asked["list"] == 0


def test_what_lies_behind_the_end_of_the_list_is_found(way: Choice, opened: Open, short: None) -> None:
    pusher = opened(Choice())
    pusher.push_many(range(120))
    low = {pusher.push(n, priority="low", project="p").id for n in range(5)}
    queue = opened(way)
    assert {lease.id for lease in queue.claim_many(5, project="p")} == low
    assert len(queue.claim_many(500)) == 120
    assert queue.claim() is None


def test_a_dead_workers_task_comes_back(way: Choice, store: Counting, opened: Open, clock: ManualClock) -> None:
    pusher = opened(Choice())
    pusher.push_many(range(3))
    far = plain(store, clock, host=FAR)
    held = far.claim(ttl=20)
    assert held is not None
    here = opened(way)
    assert len(drain(here)) == 2
    for _ in range(6):
        clock.advance(35)
        if (lease := here.claim()) is not None:
            break
    assert lease is not None and (lease.id, lease.epoch) == (held.id, 2)


@pytest.mark.parametrize("filters", [{"project": "p"}, {"labels": ["x"]}, {"max_priority": 40}])
def test_filters_give_what_they_name_and_nothing_else(way: Choice, opened: Open, filters: dict[str, Any]) -> None:
    pusher = opened(Choice())
    wanted = {pusher.push(n, project="p", labels=["x", "y"], priority=40).id for n in range(3)}
    others = {pusher.push(n, labels=["y"], priority=60).id for n in range(3)}
    queue = opened(way)
    mine = {queue.push(9, project="p", labels=["x"], priority=30).id}
    queue.push(8, priority=70)
    found = queue.claim_many(10, **filters)
    assert {lease.id for lease in found} == wanted | mine
    assert {lease.id for lease in queue.claim_many(10)} > others


# Damage and death


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "cut": lambda data: data[: len(data) // 2],
    "zeros": lambda data: bytes(len(data)),
    "noise": lambda data: random.Random(3).randbytes(len(data)),
    "no marks": lambda data: data.partition(b"\n")[2],
    "foreign": lambda data: data.replace(b"pending/", b"claimed/"),
    "another boot": lambda data: data.replace(b'"boot":"', b'"boot":"other-'),
    "from the future": lambda data: data.replace(b'"made":', b'"made":9'),
    "a later format": lambda data: data.replace(b'"format":1', b'"format":2'),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_mirror_is_listed_anew(mirror: Choice, opened: Open, damage: str) -> None:
    opened(Choice()).push_many(range(10))
    first = opened(mirror)
    assert first.claim() is not None
    path = names_file(mirror)
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    damaged = path.stat().st_ino  # kept open by the first
    second = opened(mirror)
    assert second.claim() is not None
    assert path.stat().st_ino != damaged, "it is used as it is"
    assert len(second.claim_many(20)) == 8
    snapshot.read(path.read_bytes().partition(b"\n")[2])
    assert first.claim() is None


@pytest.mark.parametrize("damage", [name for name in DAMAGE if name not in ("no marks", "another boot")])
def test_a_damaged_manifest_is_written_anew(store: Counting, opened: Open, damage: str) -> None:
    opened(Choice()).push_many(range(10))
    assert opened(Choice("manifest")).claim() is not None
    entry = store._entries["names/ready"]
    store._entries["names/ready"] = entry._replace(data=DAMAGE[damage](entry.data), version="damaged")
    second = opened(Choice("manifest"))
    assert second.claim() is not None
    assert store._entries["names/ready"].version != "damaged", "it is used as it is"
    assert len(second.claim_many(20)) == 8
    head, _ = snapshot.read(store._entries["names/ready"].data)
    assert head["made"] <= store.now()


def test_a_deleted_mirror_is_made_again(mirror: Choice, opened: Open) -> None:
    queue = opened(mirror)
    queue.push_many(range(4))
    assert opened(mirror).claim() is not None
    path = names_file(mirror)
    path.unlink()
    for left in path.parent.iterdir():
        left.unlink()
    path.parent.rmdir()
    assert len(opened(mirror).claim_many(9)) == 3


def test_a_mirror_that_cannot_be_written_is_told(tmp_path: Path, opened: Open) -> None:
    (tmp_path / "m").write_text("a file")
    queue = opened(Choice("mirror", f"{tmp_path}/m"))
    queue.push(1)
    with pytest.raises(StorageError, match=f"storage refused {tmp_path}/m"):
        queue.claim()


def test_who_lists_for_too_long_is_not_waited_for(mirror: Choice, opened: Open, clock: ManualClock) -> None:
    queue = opened(mirror, idle=1.0)
    assert queue.claim() is None
    path = names_file(mirror)
    with (path.parent / "listing").open("r+") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        opened(Choice()).push(1)
        before = path.stat().st_ino
        clock.advance(60)
        assert opened(mirror, idle=1.0).claim() is None and path.stat().st_ino == before
        clock.advance(61)
        assert queue.claim() is not None
    assert list(path.parent.glob("*.new")) == []


def test_what_a_killed_lister_left_is_swept_away(mirror: Choice, opened: Open, clock: ManualClock) -> None:
    queue = opened(mirror)
    assert queue.claim() is None
    left = names_file(mirror).parent / "names.123.abcd.new"
    left.write_bytes(b"half of a l")
    clock.advance(400)
    assert queue.claim() is None
    assert not left.exists()


def test_several_queues_in_one_folder(mirror: Choice, clock: ManualClock) -> None:
    queues = [ByNames("memory:", Counting(clock), discover=mirror, clock=clock) for _ in range(3)]
    for number, queue in enumerate(queues):
        queue.push(number)
    for number, queue in enumerate(queues):
        lease = ByNames("memory:", queue._store, discover=mirror, clock=clock).claim()  # type: ignore[arg-type]
        assert lease is not None and lease.payload == number
    assert len(os.listdir(mirror.where)) == 3


def test_a_wall_clock_an_hour_off_changes_nothing(
    way: Choice, store: Counting, opened: Open, clock: ManualClock
) -> None:
    pusher = opened(Choice())
    pusher.push_many(range(40))
    for wrong in (3600.0, -3600.0):
        far = opened(way, host=FAR, clock=FarClock(clock, wrong))
        assert far.claim() is not None
        store.asked.clear()
        other = opened(way, host=FAR, clock=FarClock(clock, wrong))
        for _ in range(8):
            assert other.claim() is not None and far.claim() is not None
        assert store.asked["list"] == 0, "it takes the list for old"


@pytest.mark.parametrize("key", ["claimed/0050/aa/x", "pending/0050/x", "", "tasks/aa/x"])
def test_a_list_of_anything_else_is_none(key: str) -> None:
    data = snapshot.Listed([key], cut=False).to_bytes(made=1.0)
    with pytest.raises(BadInput, match="not a list of names"):
        snapshot.read(data)
