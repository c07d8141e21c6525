"""The guard, with real processes: who is kept, who is not, and in which order a dead worker is buried."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dibs.errors import StorageError
from dibs.queues.heart import MARK
from dibs.worker.guard import Guard, Ward
from waiting import PATIENCE, until

from .conftest import alive, lines


class Time:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def boottime(self) -> float:
        return self.now

    def wall(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Store:
    """What the guard beats: it records what is asked of it, and can be told to fail."""

    def __init__(self, ttl: float) -> None:
        self.clock = Time()
        self.ttl = ttl
        self.deadline = self.clock.now + ttl
        self.beats = 0
        self.broken = False
        self.ended: list[str] = []
        self.at_end: Any = lambda: None

    def beat(self, handle: str) -> float | None:
        if self.broken:
            raise StorageError("the disk is full")
        if self.clock.now >= self.deadline:
            return None
        self.beats += 1
        self.deadline = self.clock.now + self.ttl
        return self.deadline

    def end(self, handle: str) -> None:
        self.at_end()
        self.ended.append(handle)


class Told:
    def __init__(self) -> None:
        self.words: list[str] = []

    def lost(self, ward: Ward, handle: str) -> None:
        self.words.append(f"lost {handle}")

    def over(self, ward: Ward, name: tuple[str, int]) -> None:
        self.words.append(f"over {name[0]} {name[1]}")

    def settle(self, ward: Ward) -> None:
        self.words.append("settle")

    def buried(self, ward: Ward) -> None:
        self.words.append("buried")

    def trouble(self, error: StorageError) -> None:
        self.words.append("trouble")


MINE = os.urandom(8).hex()  # tests run side by side, and each kills by its mark


@pytest.fixture
def worker() -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(["sleep", "60"], start_new_session=True, env={**os.environ, MARK: f"outer,{MINE}"})
    yield process
    process.kill()
    process.wait()


def run(guard: Guard, condition: Any, what: str) -> None:
    def stepped() -> Any:
        guard.step()
        return condition()

    until(stepped, what)


def ready(ttl: float, pid: int, **more: Any) -> tuple[Guard, Store, Told, Ward]:
    store, told = Store(ttl), Told()
    guard, ward = Guard(store, told), Ward(pid, MINE, **more)
    guard.wards.append(ward)
    assert guard.hold(ward, "h", ttl) is not None
    return guard, store, told, ward


def test_what_holds_already_is_beaten_in_time(worker: "subprocess.Popen[bytes]") -> None:
    store, told = Store(8.0), Told()
    guard, ward = Guard(store, told), Ward(worker.pid, MINE)
    guard.wards.append(ward)
    claimed = store.clock.now
    store.clock.now += 0.5
    assert guard.hold(ward, "h", 8.0, claimed + 8.0) == claimed + 8.0
    assert store.beats == 0
    assert 0 < guard.step() <= 1.5
    store.clock.now = claimed + 2.01
    guard.step()
    assert store.beats == 1
    store.clock.now += 7.0
    assert guard.hold(ward, "late", 8.0, claimed + 8.5) is not None  # a message that took long: no time to lose
    assert store.beats == 2


def test_beats_at_once_and_four_times_a_ttl(worker: "subprocess.Popen[bytes]") -> None:
    guard, store, told, _ = ready(8.0, worker.pid)
    assert store.beats == 1
    for number in range(2, 8):
        store.clock.now += 1.99
        assert 0 < guard.step() < 0.02
        assert store.beats == number - 1
        store.clock.now += 0.02
        assert 1.9 < guard.step() <= 2.0
        assert store.beats == number
    assert told.words == []


def test_a_stopped_worker_is_not_kept_and_told_when_it_is_lost(worker: "subprocess.Popen[bytes]") -> None:
    guard, store, told, ward = ready(6.0, worker.pid)
    worker.send_signal(signal.SIGSTOP)
    run(guard, lambda: ward.stopped, "the guard to see it")
    while store.clock.now < store.deadline - 0.01:
        assert guard.step() <= 0.5, "it must see in time that it wakes"
        assert (store.beats, told.words) == (1, [])
        store.clock.now += 0.5
    store.clock.now = store.deadline
    guard.step()
    assert told.words == ["lost h"]
    worker.send_signal(signal.SIGCONT)
    run(guard, lambda: not ward.stopped, "it to wake")
    assert store.beats == 1
    assert store.ended == []


def test_a_worker_that_wakes_in_time_is_kept_on(worker: "subprocess.Popen[bytes]") -> None:
    guard, store, told, ward = ready(6.0, worker.pid)
    worker.send_signal(signal.SIGSTOP)
    run(guard, lambda: ward.stopped, "the guard to see it")
    store.clock.now += 5.9
    guard.step()
    assert store.beats == 1
    worker.send_signal(signal.SIGCONT)
    run(guard, lambda: store.beats == 2, "beats to go on")
    assert told.words == []


def test_commands_of_a_stopped_worker_die_before_its_lease_is_over(worker: "subprocess.Popen[bytes]") -> None:
    command = subprocess.Popen(["sleep", "60"], start_new_session=True)
    guard, store, told, ward = ready(6.0, worker.pid, groups=lambda: [command.pid])
    worker.send_signal(signal.SIGSTOP)
    run(guard, lambda: ward.stopped, "the guard to see it")
    store.clock.now += 5.0
    guard.step()
    assert alive(command.pid)
    store.clock.now += 0.7
    guard.step()
    assert command.wait(PATIENCE) == -signal.SIGKILL
    assert store.clock.now < store.deadline
    assert told.words == []


def test_the_dead_are_buried_after_their_children(worker: "subprocess.Popen[bytes]", tmp_path: Path) -> None:
    """A group that was named, a marked process in a session of its own, and one forked from it."""
    group = subprocess.Popen(["sh", "-c", "sleep 60 & wait"], start_new_session=True, env={})
    source = f"""
import os, time
child = os.fork()
open({str(tmp_path / "pid")!r}, "a").write(f"{{os.getpid()}}\\n")
os.wait() if child else time.sleep(60)
"""
    stray = subprocess.Popen([sys.executable, "-c", source], start_new_session=True, env={MARK: MINE})
    until(lambda: len(lines(tmp_path / "pid")), "both", equals=2)
    pids = [group.pid, *map(int, lines(tmp_path / "pid"))]
    guard, store, told, _ = ready(5.0, worker.pid, groups=lambda: [group.pid])
    store.at_end = lambda: told.words.append(f"end, alive: {sum(map(alive, pids))}")
    guard.step()
    assert all(map(alive, pids))
    worker.kill()
    run(guard, lambda: not guard.wards, "the burial")
    assert told.words == ["settle", "end, alive: 0", "buried"]
    assert store.ended == ["h"]
    group.wait()
    stray.wait()


def test_nothing_is_given_back_before_all_are_seen_to_be_gone(
    worker: "subprocess.Popen[bytes]", monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child that takes its time to die, and one born behind the first look that found nothing."""
    looks = [False, False, True, False, True, True]
    monkeypatch.setattr("dibs.worker.guard.kill_brood", lambda *_: looks.pop(0))
    guard, store, told, _ = ready(60.0, worker.pid)
    worker.kill()
    worker.wait()
    while looks:
        assert store.ended == []
        guard.step()
    assert told.words == ["settle", "buried"]


def test_what_cannot_be_killed_is_waited_for_until_the_lease_is_over(
    worker: "subprocess.Popen[bytes]", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dibs.worker.guard.kill_brood", lambda *_: False)
    guard, store, told, _ = ready(6.0, worker.pid)
    worker.kill()
    worker.wait()
    while store.clock.now < store.deadline:
        assert 0 < guard.step() <= 0.5
        assert store.ended == []
        store.clock.now += 0.5
    guard.step()
    assert told.words == ["settle", "buried"]


def test_processes_of_others_are_left_alone(worker: "subprocess.Popen[bytes]") -> None:
    other = subprocess.Popen(["sleep", "60"], start_new_session=True, env={MARK: f"{MINE}2", "X": MINE})
    guard, store, _, _ = ready(5.0, worker.pid)
    worker.kill()
    run(guard, lambda: store.ended, "the end")
    assert alive(other.pid)
    other.kill()
    other.wait()


def test_one_that_left_in_order_leaves_its_children_alone(worker: "subprocess.Popen[bytes]") -> None:
    stray = subprocess.Popen(["sleep", "60"], start_new_session=True, env={MARK: MINE})
    guard, store, _, _ = ready(5.0, worker.pid, left_in_order=lambda: True)
    worker.kill()
    run(guard, lambda: store.ended, "the end")
    assert alive(stray.pid)
    stray.kill()
    stray.wait()


def test_a_reused_pid_is_not_the_worker() -> None:
    guard, store, _, _ = ready(5.0, os.getpid(), start="1")
    run(guard, lambda: store.ended == ["h"], "the end")


def test_trouble_with_the_storage_is_told_and_tried_again_while_there_is_time(
    worker: "subprocess.Popen[bytes]",
) -> None:
    guard, store, told, _ = ready(6.0, worker.pid)
    store.broken = True
    store.clock.now += 2.0
    assert guard.step() <= 0.5
    assert told.words == ["trouble"]
    store.broken = False
    store.clock.now += 0.5
    guard.step()
    assert store.beats == 2
    store.broken = True
    while store.clock.now < store.deadline:
        assert "lost h" not in told.words
        store.clock.now += 0.5
        guard.step()
    assert told.words[-1] == "lost h"


def test_limits_are_told_once(worker: "subprocess.Popen[bytes]") -> None:
    guard, store, told, ward = ready(60.0, worker.pid)
    ward.limits["a", 1] = store.clock.now + 0.1
    assert guard.step() <= 0.11
    assert told.words == []
    store.clock.now += 0.1
    guard.step()
    guard.step()
    assert told.words == ["over a 1"]


def test_a_dropped_handle_is_beaten_no_more(worker: "subprocess.Popen[bytes]") -> None:
    guard, store, told, ward = ready(6.0, worker.pid)
    guard.drop(ward, "h")
    store.clock.now += 7.0
    guard.step()
    assert store.beats == 1
    assert told.words == []
