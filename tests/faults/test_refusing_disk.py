"""A disk that says no at any moment: full, read-only, no permission, failing. A clear error, and nothing is lost."""

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
from disk.inspect_files import places, problems
from disk.os_seam import told

GROWS = {"open", "write", "fsync", "mkdir", "makedirs", "link", "rename", "utime"}
REFUSALS = {"full": errno.ENOSPC, "read-only": errno.EROFS, "no permission": errno.EACCES, "failing": errno.EIO}


class Refusing:
    """Refuses the n-th changing call, or every one from there on."""

    def __init__(self, code: int, n: int, *, stays: bool) -> None:
        self.code = code
        self.n = n
        self.stays = stays
        self.seen = 0

    def __call__(self, name: str, args: tuple[Any, ...]) -> None:
        if self.code == errno.ENOSPC and name not in GROWS:
            return
        self.seen += 1
        if self.seen == self.n or (self.stays and self.seen > self.n):
            path = next((arg for arg in args if isinstance(arg, str)), None)
            raise OSError(self.code, os.strerror(self.code), path)


Insist = Callable[[Callable[[], Any]], Any]


def push(queue: Queue, insist: Insist) -> None:
    insist(lambda: queue.push({"new": 1}, project="p", labels=["l"]))


def push_keyed(queue: Queue, insist: Insist) -> None:
    clock = queue.clock
    start = clock.boottime()
    insist(lambda: dibs.open(queue.url, clock=clock).push({"new": 1}, key="new"))
    assert clock.boottime() - start < 30, "a push that was refused keeps its key from others"
    assert sum(task.key == "new" for task in queue.tasks()) == 1


def push_many(queue: Queue, insist: Insist) -> None:
    insist(lambda: queue.push_many([{"new": n} for n in range(6)]))


def push_after(queue: Queue, insist: Insist) -> None:
    insist(lambda: queue.push({"new": 1}, after=["held"]))


def claim(queue: Queue, insist: Insist) -> Lease:
    lease = insist(queue.claim) or insist(queue.claim)
    assert lease is not None
    return lease


def work(queue: Queue, insist: Insist) -> None:
    lease = claim(queue, insist)
    insist(lease.renew)
    insist(lambda: lease.complete({"result": 1}))
    assert queue.detail(lease.id).result == {"result": 1}


def fail(queue: Queue, insist: Insist) -> None:
    lease = claim(queue, insist)
    insist(lambda: lease.fail("no luck"))
    assert queue.get(lease.id).attempts == 1


def release(queue: Queue, insist: Insist) -> None:
    lease = claim(queue, insist)
    insist(lambda: queue.handle(lease))
    insist(lease.release)
    assert queue.get(lease.id).state == "ready"


def steer(queue: Queue, insist: Insist) -> None:
    insist(lambda: queue.cancel("one"))
    insist(lambda: queue.retry("one"))
    insist(lambda: queue.pause("why"))
    insist(queue.resume)
    insist(lambda: queue.purge("cancelled", older_than=-1))


ACTS: dict[str, Callable[[Queue, Insist], None]] = {
    act.__name__: act for act in (push, push_keyed, push_many, push_after, work, fail, release, steer)
}


def prepare(path: Path) -> set[str]:
    queue = dibs.open(f"{path}?sync=off")
    for key in ("held", "one"):
        queue.push({key: 1}, key=key, max_attempts=100, backoff=0.0)
    return set(places(path))


def run_dry(path: Path, clock: ManualClock) -> set[str]:
    """Complete whatever is there, when every lease has run out; all that is completed now."""
    clock.advance(1000)
    queue = dibs.open(f"{path}?sync=off", clock=clock)
    queue.resume()
    if queue.get("one").state == "cancelled":
        queue.retry("one")
    while (lease := queue.claim(ttl=600)) is not None:
        lease.complete()
    return {task.id for task in queue.tasks("completed")}


@pytest.mark.parametrize("stays", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("refusal", REFUSALS)
@pytest.mark.parametrize("act", ACTS)
def test_a_refusal_at_every_call(act: str, refusal: str, stays: bool, quick_folder: Path) -> None:
    n = 0
    refused = True
    errors: list[str] = []

    def insist(step: Callable[[], Any]) -> Any:
        """As a user does: a refused step is tried once more, if the disk is well again."""
        try:
            return step()
        except dibs.StorageError as error:
            errors.append(str(error))
            if stays:
                raise
            try:
                return step()
            except (dibs.LeaseLost, dibs.Refused):
                return None  # the first try took effect after all

    while refused:
        n += 1
        path = quick_folder / str(n)
        before = prepare(path)
        disk, clock = Refusing(REFUSALS[refusal], n, stays=stays), ManualClock()
        with told(disk):
            try:
                ACTS[act](insist(lambda path=path, clock=clock: dibs.open(str(path), clock=clock)), insist)
            except dibs.StorageError:
                assert stays
        refused = disk.seen >= n
        assert problems(path) == [], f"call {n}"
        assert before <= set(places(path)), f"call {n}: lost"
        completed = run_dry(path, clock)
        assert before <= completed, f"call {n}: {before - completed} did not run afterwards"
        assert problems(path) == [], f"call {n}"
    assert n > 2
    for error in errors:
        assert "\n" not in error
        assert ";" in error, f"no remedy: {error}"
    if stays:
        assert errors


def test_a_lease_that_could_not_be_given_back_is_not_called_lost(quick_folder: Path) -> None:
    """It ran for too long, so a renewal gives it back; the disk refuses that, and so it is still held."""
    clock = ManualClock()
    with dibs.open(f"{quick_folder}/q?sync=off", clock=clock) as queue:
        task = queue.push({"n": 1}, max_runtime=10.0)
    disk = Refusing(errno.EIO, 0, stays=False)
    with told(disk):
        queue = dibs.open(f"{quick_folder}/q?sync=off", clock=clock)
        lease = queue.claim(ttl=60)
        assert lease is not None
        clock.advance(11)
        disk.n, disk.seen, disk.stays = 1, 0, True
        with pytest.raises(dibs.StorageError):
            lease.renew()
        disk.n, disk.stays = -1, False
        assert queue.get(task.id).state == "claimed"
        lease.release()
    assert queue.get(task.id).state == "ready"
