"""What a queue in a bucket asks of it: few requests a task, none that grows with the queue, hardly any when idle."""

import subprocess
import sys
from collections.abc import Callable

import dibs
from dibs.queues.objects import ObjectsQueue
from dibs.queues.objects.cost import STEPS, of_steps
from dibs.testing import ManualClock
from servers.proxy import FaultProxy
from waiting import LONG_PATIENCE

Url = Callable[..., str]


def opened(url: str, **options: object) -> ObjectsQueue:
    queue = dibs.open(url, **options)
    assert isinstance(queue, ObjectsQueue)
    return queue


def asked(queue: ObjectsQueue, before: dict[str, int]) -> dict[str, int]:
    return {kind: count - before[kind] for kind, count in queue.meter.counts.items()}


def test_a_task_takes_five_requests_and_hardly_a_listing(url: Url) -> None:
    queue = opened(url())
    queue.push_many(range(1200))
    lease = queue.claim()
    assert lease is not None
    before = queue.meter.counts
    for number in range(100):
        queue.push(number)
        lease = queue.claim()
        assert lease is not None
        lease.complete()
    counts = asked(queue, before)
    paid = sum(counts[kind] for kind in ("put", "get", "list"))
    assert paid <= 5.1 * 100, counts
    task = of_steps("push", "claim", "complete")
    assert {kind: counts[kind] for kind in ("put", "get")} == {kind: 100 * task[kind] for kind in ("put", "get")}
    assert counts["delete"] <= 10


def test_a_renewal_takes_one_request(url: Url) -> None:
    queue = opened(url())
    queue.push(1)
    lease = queue.claim()
    assert lease is not None
    before = queue.meter.counts
    lease.renew()
    counts = asked(queue, before)
    assert {kind: count for kind, count in counts.items() if count} == STEPS["renew"]


def test_the_meter_counts_what_is_sent(url: Url, proxy: FaultProxy) -> None:
    queue = opened(url(endpoint=proxy.endpoint))
    queue.push_many(range(20))
    while (lease := queue.claim()) is not None:
        lease.complete()
    queue.close()
    counts, seen = queue.meter.counts, proxy.seen
    assert counts["put"] == seen["create"] + seen["replace"] + seen["put"]
    assert counts["get"] == seen["get"] + seen["head"]
    assert counts["list"] == seen["list"] and counts["delete"] == seen["delete"]


def test_a_task_that_dibs_work_runs_takes_no_more(url: Url, proxy: FaultProxy) -> None:
    """Its guard asks nothing before the first beat is due, and so no completion meets a newer version."""
    tasks = 200
    opened(url()).push_many(range(tasks))
    done = subprocess.run(
        [sys.executable, "-m", "dibs", "work", url(endpoint=proxy.endpoint), "-j", "8", "--pool", "thread",
         "--until-empty", "--call", "json:dumps"],
        capture_output=True, text=True, timeout=LONG_PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    seen = proxy.seen
    assert seen["replace"] < 1.1 * tasks, seen  # its completion
    assert seen["create"] < 2.2 * tasks, seen  # its claim, and the marker of its completion
    assert seen["get"] < 4 * tasks, seen  # its payload; and at the end all look for what is left


def test_an_idle_worker_lists_at_most_120_times_an_hour(url: Url) -> None:
    clock = ManualClock()
    queue = opened(url(), clock=clock)
    other = opened(url())
    later = other.push(1, delay=864000)
    other.push(2, after=[later.id])
    done = other.push(3)
    lease = other.claim()
    assert lease is not None and lease.id == done.id
    lease.complete()
    assert queue.claim() is None
    began, before = clock.boottime(), queue.meter.counts
    assert list(queue.claims(wait=4 * 3600)) == []
    hours = (clock.boottime() - began) / 3600
    assert hours > 3.9
    assert asked(queue, before)["list"] <= 120 * hours


def test_a_longer_queue_makes_a_claim_no_dearer(url: Url) -> None:
    queue = opened(url(fresh=0))
    costs = []
    for _ in range(2):
        queue.push_many(range(1500))
        before = queue.meter.counts
        assert queue.claim() is not None
        costs.append(asked(queue, before))
    assert costs[1]["list"] <= costs[0]["list"] and costs[1]["get"] <= costs[0]["get"] + 1
