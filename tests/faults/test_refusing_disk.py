"""A disk that says no at any moment: full, read-only, no permission, failing. A clear error, and nothing is lost."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dibs
import pytest
from dibs.queues.queue import Queue
from dibs.states import LIVE
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


def push(queue: Queue) -> None:
    queue.push({"new": 1}, project="p", labels=["l"])


def push_keyed(queue: Queue) -> None:
    queue.push({"new": 1}, key="new")


def push_many(queue: Queue) -> None:
    queue.push_many([{"new": n} for n in range(6)])


def push_after(queue: Queue) -> None:
    queue.push({"new": 1}, after=["held"], delay=0.01)


def work(queue: Queue) -> None:
    lease = queue.claim()
    assert lease is not None
    lease.renew()
    lease.complete({"result": 1})


def fail(queue: Queue) -> None:
    lease = queue.claim()
    assert lease is not None
    lease.fail("no luck")


def release(queue: Queue) -> None:
    lease = queue.claim()
    assert lease is not None
    queue.handle(lease)
    lease.release(0.01)


def steer(queue: Queue) -> None:
    queue.cancel("one")
    queue.retry("one")
    queue.pause("why")
    queue.resume()
    queue.purge("cancelled", older_than=-1)


ACTS: dict[str, Callable[[Queue], None]] = {
    act.__name__: act for act in (push, push_keyed, push_many, push_after, work, fail, release, steer)
}


def prepare(path: Path) -> set[str]:
    queue = dibs.open(f"{path}?sync=off")
    queue.push({"held": 1}, key="held", max_attempts=100, backoff=0.0)
    queue.push({"one": 1}, key="one", max_attempts=100, backoff=0.0)
    return set(places(path))


def run_dry(path: Path) -> list[str]:
    """Complete whatever is there; the payloads that ran, as text."""
    queue = dibs.open(f"{path}?sync=off")
    queue.resume()
    ran = []
    for lease in queue.claims(wait=3.0, ttl=600):
        ran.append(str(lease.payload))
        lease.complete()
        if not any(queue.stats().states[state] for state in LIVE):
            break
    return ran


@pytest.mark.parametrize("stays", [False, True], ids=["once", "from then on"])
@pytest.mark.parametrize("refusal", REFUSALS)
@pytest.mark.parametrize("act", ACTS)
def test_a_refusal_at_every_call(act: str, refusal: str, stays: bool, quick_folder: Path) -> None:
    n = 0
    refused = True
    errors = 0
    while refused:
        n += 1
        path = quick_folder / str(n)
        before = prepare(path)
        disk = Refusing(REFUSALS[refusal], n, stays=stays)
        with told(disk):
            try:
                queue = dibs.open(str(path))
                ACTS[act](queue)
            except dibs.DibsError as error:
                errors += 1
                assert "\n" not in str(error)
                assert ";" in str(error), f"call {n}: no remedy in {error}"
        refused = disk.seen >= n
        assert problems(path) == [], f"call {n}"
        assert before <= set(places(path)), f"call {n}: lost"
        queue.close()
        ran = run_dry(path)
        done = sorted(set(ran) & {"{'held': 1}", "{'one': 1}"})
        left = 2 - (act == "work") - (act == "steer")
        assert len(done) >= left, f"call {n}: only {ran} ran afterwards"
        assert len(places(path)) >= 2
    assert n > 2
    assert errors >= (1 if stays else 0)
