"""A claim that broke off may stand though nobody knows of it: the disk failed after the lease was written, or the share
took the write and lost the answer. Whoever lives gives it back: no task waits for a TTL, and nobody died."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs.queues.held import Lease
from dibs.queues.queue import Queue
from dibs.testing import ManualClock
from disk.os_seam import told

TTL = 600.0
Open = Callable[[Path, ManualClock], Queue]


class Failing:
    """Fails one call, the n-th."""

    def __init__(self, n: int, code: int) -> None:
        self.n = n
        self.code = code
        self.seen = 0
        self.armed = False

    def __call__(self, name: str, args: tuple[Any, ...]) -> None:
        self.seen += self.armed
        if self.armed and self.seen == self.n:
            raise OSError(self.code, os.strerror(self.code), next((arg for arg in args if isinstance(arg, str)), None))


def files(place: Path, clock: ManualClock) -> Queue:
    return dibs.open(f"file:{place}/q?sync=off", clock=clock)


def marked(place: Path, clock: ManualClock) -> Queue:
    return dibs.open(f"file:{place}/q?sync=off&steps=marker", clock=clock)


def directory(place: Path, clock: ManualClock) -> Queue:
    (place / "inputs").mkdir(parents=True, exist_ok=True)
    return dibs.open(f"dir:{place}/inputs?settle=0", clock=clock)


def specs(place: Path, clock: ManualClock) -> Queue:
    (place / ".dibs" / "specs").mkdir(parents=True, exist_ok=True)
    return dibs.open(f"specs:{place}/.dibs/specs", clock=clock)


def soon(queue: Queue, clock: ManualClock) -> Lease | None:
    """What a worker gets that goes on, within seconds; where steps have markers, once it has waited for one."""
    for _ in range(70 if "marker" in queue.url else 6):
        clock.advance(1.0)
        lease = queue.claim(ttl=TTL)
        if lease is not None:
            return lease
    return None


@pytest.mark.parametrize("closed", [False, True], ids=["goes on", "is closed"])
@pytest.mark.parametrize("how", ["before", "after", "reading"])
@pytest.mark.parametrize("make", [files, marked, directory, specs])
def test_a_failure_at_every_call_of_a_claim(make: Open, how: str, closed: bool, quick_folder: Path) -> None:
    n, failed, doubtful = 0, True, 0
    while failed:
        n += 1
        place, clock = quick_folder / str(n), ManualClock()
        with make(place, clock) as other:
            task = other.push({"n": n}, key="task")
        disk = Failing(n, errno.EIO)
        lease = None
        with told(disk, after=how == "after", reads=how == "reading"):
            queue = make(place, clock)  # it remembers the calls that it makes most
            disk.armed = True
            try:
                lease = queue.claim(ttl=TTL)
            except dibs.StorageError:
                doubtful += 1
        failed, disk.armed = disk.seen >= n, False
        if lease is None:
            worker = queue
            if closed:
                queue.close()
                worker = make(place, clock)
            lease = soon(worker, clock)
            assert lease is not None, f"call {n}: it waits for its TTL: {worker.why(task.id).text}"
        assert (lease.id, lease.task.deaths, lease.task.attempts) == (task.id, 0, 0), f"call {n}: nobody died"
        lease.complete()
        assert [event.what for event in lease.queue.detail(task.id).history if event.what != "completed"] == []
    assert doubtful


@pytest.mark.parametrize("how", ["before", "after"])
@pytest.mark.parametrize("make", [files, directory, specs])
def test_what_a_batch_has_claimed_is_not_given_up_for_what_it_has_not(make: Open, how: str, quick_folder: Path) -> None:
    n, failed, fewer = 0, True, 0
    while failed:
        n += 1
        place, clock = quick_folder / str(n), ManualClock()
        with make(place, clock) as other:
            tasks = {other.push({"n": number}, key=f"task-{number}").id for number in range(3)}
        disk = Failing(n, errno.EIO)
        leases: list[Lease] = []
        with told(disk, after=how == "after"):
            queue = make(place, clock)
            disk.armed = True
            try:
                leases = queue.claim_many(3, ttl=TTL)
            except dibs.StorageError:
                pass
        failed, disk.armed = disk.seen >= n, False
        fewer += 0 < len(leases) < 3
        while len(leases) < 3:
            lease = soon(queue, clock)
            assert lease is not None, f"call {n}: it waits for its TTL"
            leases.append(lease)
        assert {lease.id for lease in leases} == tasks
        assert all(lease.task.deaths == 0 for lease in leases), f"call {n}: nobody died"
    assert fewer or (make, how) == (files, "after"), "there a rename whose answer was lost is looked after at once"
