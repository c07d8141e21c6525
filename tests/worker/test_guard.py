"""The guard, with real processes: who is kept, who is not, and in which order a dead worker is buried."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dibs.clock import SYSTEM
from dibs.errors import StorageError
from dibs.queues.heart import MARK
from dibs.worker.guard import Guard, Ward

from .conftest import alive, lines, until


class Store:
    """What the guard beats: it records what is asked of it, and can be told to fail."""

    clock = SYSTEM

    def __init__(self, ttl: float) -> None:
        self.ttl = ttl
        self.deadline = SYSTEM.boottime() + ttl
        self.beats = 0
        self.broken = False
        self.ended: list[str] = []
        self.at_end: Any = lambda: None

    def beat(self, handle: str) -> float | None:
        if self.broken:
            raise StorageError("the disk is full")
        if SYSTEM.boottime() >= self.deadline:
            return None
        self.beats += 1
        self.deadline = SYSTEM.boottime() + self.ttl
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


def test_beats_at_once_and_a_third_of_the_ttl_apart(worker: "subprocess.Popen[bytes]") -> None:
    guard, store, told, _ = ready(0.6, worker.pid)
    assert store.beats == 1
    assert 0 < guard.step() <= 0.2
    begun = SYSTEM.boottime()
    run(guard, lambda: SYSTEM.boottime() - begun > 1.5, "some TTLs to pass")
    assert 5 <= store.beats <= 9
    assert told.words == []


def test_a_stopped_worker_is_not_kept_and_told_when_it_is_lost(worker: "subprocess.Popen[bytes]") -> None:
    guard, store, told, ward = ready(0.5, worker.pid)
    worker.send_signal(signal.SIGSTOP)
    run(guard, lambda: ward.stopped, "the guard to see it")
    beats = store.beats
    run(guard, lambda: told.words == ["lost h"], "it to be lost")
    assert store.beats == beats
    assert SYSTEM.boottime() >= store.deadline
    worker.send_signal(signal.SIGCONT)
    run(guard, lambda: not ward.stopped, "it to wake")
    assert store.beats == beats
    assert store.ended == []


def test_a_worker_that_wakes_in_time_is_kept_on(worker: "subprocess.Popen[bytes]") -> None:
    guard, store, told, ward = ready(2.0, worker.pid)
    worker.send_signal(signal.SIGSTOP)
    run(guard, lambda: ward.stopped and SYSTEM.boottime() > store.deadline - 1.0, "half of its TTL to pass")
    beats = store.beats
    worker.send_signal(signal.SIGCONT)
    run(guard, lambda: store.beats > beats, "beats to go on")
    assert told.words == []


def test_commands_of_a_stopped_worker_die_before_its_lease_is_over(worker: "subprocess.Popen[bytes]") -> None:
    command = subprocess.Popen(["sleep", "60"], start_new_session=True)
    guard, store, told, _ = ready(0.5, worker.pid, groups=lambda: [command.pid])
    worker.send_signal(signal.SIGSTOP)
    died_at = []

    def watched() -> bool:
        if not died_at and command.poll() is not None:
            died_at.append(SYSTEM.boottime())
        return told.words == ["lost h"]

    run(guard, watched, "it to be lost")
    assert died_at and died_at[0] < store.deadline


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
    until(lambda: len(lines(tmp_path / "pid")) == 2, "both")
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
    guard, store, told, _ = ready(1.5, worker.pid)
    store.broken = True
    run(guard, lambda: told.words.count("trouble") >= 2, "trouble")
    store.broken = False
    beats = store.beats
    run(guard, lambda: store.beats > beats, "the next beat")
    store.broken = True
    run(guard, lambda: "lost h" in told.words, "it to be lost in the end")


def test_limits_are_told_once(worker: "subprocess.Popen[bytes]") -> None:
    guard, _, told, ward = ready(5.0, worker.pid)
    ward.limits["a", 1] = SYSTEM.boottime() + 0.1
    assert guard.step() <= 0.1
    run(guard, lambda: told.words == ["over a 1"], "the limit")
    guard.step()
    assert told.words == ["over a 1"]


def test_a_dropped_handle_is_beaten_no_more(worker: "subprocess.Popen[bytes]") -> None:
    guard, store, told, ward = ready(0.3, worker.pid)
    guard.drop(ward, "h")
    beats = store.beats
    run(guard, lambda: SYSTEM.boottime() > store.deadline, "its TTL to pass")
    assert store.beats == beats
    assert told.words == []
