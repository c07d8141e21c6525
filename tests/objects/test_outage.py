"""A worker whose network goes away: it finishes what it may, takes nothing, and goes on when the network is back."""

import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from threading import Timer
from uuid import uuid4

import obstore
import pytest

import dibs
from dibs.clock import SYSTEM
from dibs.errors import StorageError
from dibs.queues.queue import Queue
from dibs.states import State
from dibs.stores.objects import ObjectStore
from servers.faults import Fault, Rule
from servers.proxy import FaultProxy
from servers.server import Server
from waiting import PATIENCE, until

Url = Callable[..., str]


def completed(queue: Queue) -> int:
    return queue.stats().states[State.COMPLETED]


def test_a_listing_that_broke_off_goes_on_or_gives_up(seaweed: Server, bucket: str, proxy: FaultProxy) -> None:
    direct = seaweed.store(bucket)
    folder = f"listing-{uuid4().hex}"
    keys = [f"a/{n:04d}" for n in range(2500)]
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda key: obstore.put(direct, f"{folder}/{key}", b"x"), keys))
    driver = seaweed.store(bucket, endpoint=proxy.endpoint)

    def opened(patience: float) -> ObjectStore:
        return ObjectStore(driver, "test", clock=SYSTEM, rng=Random(1), prefix=folder, patience=patience)

    store = opened(0.5)
    names = store.list("a/")
    found = [next(names) for _ in range(1000)]
    proxy.cut()
    with pytest.raises(StorageError, match="cannot reach"):
        list(names)
    with pytest.raises(StorageError, match="cannot reach"):
        next(store.list("a/"))
    proxy.mend()
    names = opened(60).list("a/", found[-1])
    found.append(next(names))
    proxy.cut()
    Timer(0.1, proxy.mend).start()
    assert [*found, *names] == keys


FOR_EVER = 1_000_000
CELL = "*/tasks/*"
LATER = {  # what the store does not answer: the task, and the trouble that its claim meets
    "a first claim": ({}, Rule(Fault.LOST, ("create",), CELL), Rule(Fault.RESET, ("create",), CELL, 2, FOR_EVER)),
    "a claim": (
        {"max_runtime": 7200},
        Rule(Fault.LOST, ("replace",), CELL),
        Rule(Fault.RESET, ("replace",), CELL, 2, FOR_EVER),
    ),
    "its record": ({}, Rule(Fault.RESET, ("get",), "*/pending/*", 1, FOR_EVER)),
    "its payload": ({"payload": "x" * 20_000}, Rule(Fault.RESET, ("get",), "*/payloads/*", 1, FOR_EVER)),
}


@pytest.mark.parametrize("unanswered", LATER)
def test_a_claim_that_nobody_knows_of_is_given_back(url: Url, proxy: FaultProxy, unanswered: str) -> None:
    more, *rules = LATER[unanswered]
    direct = dibs.open(url())
    task = direct.push(**{"payload": 1, **more})
    queue = dibs.open(url(endpoint=proxy.endpoint, patience=0.2, timeout=5))
    proxy.faults.add(*rules)
    with pytest.raises(StorageError):
        queue.claim(ttl=3600)
    assert direct.get(task.id).state is State.CLAIMED, "it was to take effect"
    proxy.faults.calm()
    lease = queue.claim(ttl=3600)
    assert lease is not None
    assert (lease.id, lease.epoch, lease.task.deaths) == (task.id, 2, 0)
    lease.complete()


def test_a_worker_outlives_an_outage(url: Url, proxy: FaultProxy, tmp_path: Path) -> None:
    direct = dibs.open(url())
    direct.push_many(range(30))
    place = url(endpoint=proxy.endpoint, idle=0.2, fresh=1, upkeep=1, patience=1, timeout=5)
    job = ["sh", "-c", 'echo "$1" >> "$2"; sleep 0.2', "job", "{id}", str(tmp_path / "ran")]
    said = tmp_path / "said"
    with said.open("w") as file:
        worker = subprocess.Popen(
            [sys.executable, "-m", "dibs", "work", place, "-j", "2", "--ttl", "600", "--", *job],
            stdout=file,
            stderr=subprocess.STDOUT,
        )

    try:
        until(lambda: completed(direct) >= 4)
        proxy.cut()
        until(lambda: "cannot reach" in said.read_text(), "it to notice")
        before = completed(direct)  # what was on its way has arrived
        time.sleep(6)
        assert worker.poll() is None, f"it gave up: {said.read_text()}"
        assert completed(direct) == before
        assert direct.stats().states[State.CLAIMED] <= 2
        proxy.mend()
        until(lambda: completed(direct), equals=30)
        worker.terminate()
        assert worker.wait(PATIENCE) == 0
    finally:
        worker.kill()
        worker.wait()
    out = said.read_text()
    assert "cannot reach" in out and "s3cr3t" not in out and "Traceback" not in out
    done = list(direct.tasks(State.COMPLETED))
    assert sorted((tmp_path / "ran").read_text().split()) == sorted(task.id for task in done)
    assert not any(task.deaths for task in done)
