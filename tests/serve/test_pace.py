"""Which steps are done in the event loop: quick ones on local files; slow ones go to threads and come back later."""

import threading
from pathlib import Path

import pytest

import dibs
from dibs.serve import pace
from dibs.serve.pace import SLOW_SECONDS, Pace
from dibs.testing import ManualClock
from serve.daemon import Daemon


def make(place: str = "memory:pace", clock: ManualClock | None = None) -> tuple[Pace, ManualClock]:
    clock = clock or ManualClock()
    return Pace(dibs.open(place, clock=clock, pid=None)), clock


def test_slow_steps_go_to_threads_for_a_while_and_longer_each_time() -> None:
    found, clock = make()
    for pause in (1.0, 2.0, 4.0):
        assert found.quick("take")
        for _ in range(3):
            found.note("take", 2 * SLOW_SECONDS)
        assert not found.quick("take")
        assert found.quick("complete")  # each for itself
        clock.advance(pause - 0.1)
        assert not found.quick("take")
        clock.advance(0.1)
    for _ in range(3):
        clock.advance(100.0)
        found.note("take", 2 * SLOW_SECONDS)
    assert not found.quick("take")
    clock.advance(1.0)  # it had been well for long: from the beginning
    assert found.quick("take")


def test_one_slow_step_among_many_says_nothing() -> None:
    found, _ = make()
    for _ in range(100):
        found.note("take", 2 * SLOW_SECONDS)
        for _ in range(4):
            found.note("take", SLOW_SECONDS / 10)
        assert found.quick("take")


def test_only_what_is_on_this_machine_is_done_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert make(f"file:{tmp_path}/q")[0].quick("take")
    assert not make(f"lmdb:{tmp_path}/l")[0].quick("take")  # another process may hold its lock
    monkeypatch.setattr(pace, "is_local", lambda path: False)
    assert not make(f"file:{tmp_path}/q")[0].quick("take")


def test_where_a_step_runs(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    counter = daemon.house.counters["q"]
    real, threads = counter.desk.queue.complete, []
    monkeypatch.setattr(
        counter.desk.queue, "complete", lambda *a: (threads.append(threading.current_thread().name), real(*a))[1]
    )
    with dibs.open(daemon.url) as queue:
        queue.push_many(range(3))
        for quick in (True, False):
            monkeypatch.setattr(counter._pace, "quick", lambda step, quick=quick: quick)
            lease = queue.claim()
            assert lease is not None
            lease.complete()
    assert not threads[0].startswith("dibs-serve")
    assert threads[1].startswith("dibs-serve")
