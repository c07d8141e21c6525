"""What a step costs does not grow with what waits: commands inside the scripts are counted, nothing is timed."""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from redis import Redis

import dibs
from dibs.queues.queue import Queue
from dibs.task import NewTask
from dibs.testing import ManualClock
from redisqueue import manual_time
from redisqueue.own_server import OwnServer

FEW, MANY = 200, 4_000
if os.environ.get("DIBS_LONG"):
    MANY = 1_000_000
ROUNDS = 20


def fill(queue: Queue, count: int) -> None:
    """Waiting ones of several kinds, as many completed, scheduled and blocked."""
    kinds: list[dict[str, Any]] = [{}, {"project": "p"}, {"labels": ["x", "y"]}, {"priority": 0}]
    queue.push_many(NewTask(payload=n, priority=9999) for n in range(count))
    for _ in range(0, count, 500):
        queue.complete_many(queue.claim_many(500, ttl=600))
    queue.push_many(NewTask(payload=n, **kinds[n % 4]) for n in range(count))
    queue.push_many(NewTask(payload=n, delay=1e6) for n in range(count))
    queue.push_many(NewTask(payload=n, after=["nothing"]) for n in range(count))


def work(client: "Redis[bytes]", queue: Queue) -> dict[str, float]:
    """Commands that the scripts of each step ran, a round."""
    found = {}
    leases = []

    def counted(name: str, act: Callable[[], Any]) -> None:
        client.config_resetstat()
        act()
        stats = client.info("commandstats")
        found[name] = sum(entry["calls"] for entry in stats.values()) / ROUNDS

    def each(act: Callable[[], Any]) -> Callable[[], list[Any]]:
        return lambda: [act() for _ in range(ROUNDS)]

    counted("push", each(lambda: queue.push("new")))
    counted("claim", each(lambda: leases.append(queue.claim(ttl=600))))
    counted("filtered", each(lambda: leases.append(queue.claim(ttl=600, project="p"))))
    counted("labelled", each(lambda: leases.append(queue.claim(ttl=600, labels=["y"], max_priority=50))))
    counted("low", each(lambda: leases.append(queue.claim(ttl=600, max_priority=10))))
    assert None not in leases
    counted("renew", lambda: [lease.renew() for lease in leases[:ROUNDS]])
    counted("complete", lambda: [lease.complete() for lease in leases[:ROUNDS]])
    counted("release", lambda: [lease.release() for lease in leases[ROUNDS : 2 * ROUNDS]])
    counted("fail", lambda: [lease.fail("no") for lease in leases[2 * ROUNDS : 3 * ROUNDS]])
    return found


def test_no_step_costs_more_with_many_tasks(own_server: Callable[..., OwnServer]) -> None:
    server = own_server()
    with Redis(port=server.port) as client, dibs.open(server.url("few")) as few, dibs.open(server.url("many")) as many:
        fill(few, FEW)
        fill(many, MANY)
        at_few, at_many = work(client, few), work(client, many)
    for step, cost in at_few.items():
        assert at_many[step] <= cost * 1.1 + 0.5, (step, at_few, at_many)
    assert at_few["claim"] < 25


def test_a_batch_is_one_round_trip(queue: Queue) -> None:
    server = queue._server  # type: ignore[attr-defined]
    queue.push_many(range(200))
    queue.claim_many(1)
    queue.complete_many(queue.claim_many(2))
    before = server.asked
    queue.push_many(range(200))
    assert server.asked == before + 1
    leases = queue.claim_many(300, ttl=60)
    assert (len(leases), server.asked) == (300, before + 2)
    queue.complete_many(leases[:200])
    assert server.asked == before + 3


def test_a_worker_takes_one_round_trip_a_task(own_server: Callable[..., OwnServer]) -> None:
    server = own_server()
    count = 300
    url = server.url()
    with dibs.open(url) as queue, Redis(port=server.port) as client:
        queue.push_many(range(count))
        client.config_resetstat()
        words = ["work", url, "-j", "1", "--until-empty", "--call", "json:dumps"]
        subprocess.run([sys.executable, "-m", "dibs", *words], check=True, capture_output=True)
        sent = sum(entry["calls"] for name, entry in client.info("commandstats").items() if "eval" in name)
        assert queue.stats().states["completed"] == count
    assert sent < count * 1.25


def test_what_ran_out_all_at_once_is_taken_back_in_pieces(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No script works on more than a few hundred at a time, and none is forgotten."""
    clock = ManualClock()
    manual_time.install(monkeypatch, clock)
    with dibs.open(url, clock=clock) as queue:
        queue.push_many(range(1500))
        assert len(queue.claim_many(1500, ttl=10)) == 1500
        clock.advance(11)
        assert len(queue.claim_many(1, ttl=60)) == 1
        assert 0 < queue.stats().states["ready"] < 300
        taken = queue.claim_many(1499, ttl=60)
        assert len(taken) == 1499
        assert {lease.epoch for lease in taken} == {2}


@pytest.mark.parametrize("count", [250])
def test_many_that_wait_for_one_are_freed_in_pieces(queue: Queue, count: int) -> None:
    first = queue.push("first")
    queue.push_many(NewTask(payload=n, after=[first.id]) for n in range(count))
    lease = queue.claim()
    assert lease is not None
    lease.complete()
    assert 0 < queue.stats().states["blocked"] < count
    queue.purge(older_than=0)
    taken = {lease.payload for _ in range(count) for lease in queue.claim_many(1)}
    assert taken == set(range(count))
    assert queue.purge(older_than=0) == 1
