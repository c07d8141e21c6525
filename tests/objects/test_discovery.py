"""The ways to find ready tasks in a bucket: what they ask of it, and what they withstand, with real processes."""

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

import pytest

import dibs
from dibs.errors import BadInput, StorageError
from dibs.queues.objects import ObjectsQueue
from dibs.states import State
from dibs.testing import ManualClock
from servers.faults import Fault, Rule
from servers.proxy import FaultProxy
from waiting import LONG_PATIENCE, until

Url = Callable[..., str]
WAYS = ("mirror", "manifest", "queue")


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, dict[str, object]]:
    return {
        "mirror": {"mirror": f"{tmp_path}/m"},
        "manifest": {"discover": "manifest"},
        "queue": {"discover": f"file:{tmp_path}/names?sync=off"},
    }


@pytest.fixture(params=WAYS)
def place(request: pytest.FixtureRequest, url: Url, settings: dict[str, dict[str, object]]) -> Url:
    """The URL of this test's queue with each way in turn."""
    return lambda **more: url(**settings[request.param], **more)


def opened(url: str, **options: object) -> ObjectsQueue:
    queue = dibs.open(url, **options)
    assert isinstance(queue, ObjectsQueue)
    return queue


def asked(queue: ObjectsQueue, before: dict[str, int]) -> dict[str, int]:
    return {kind: count - before[kind] for kind, count in queue.meter.counts.items()}


def test_from_push_to_completion(place: Url) -> None:
    pusher, queue = opened(place()), opened(place(upkeep=0.1))
    first = pusher.push({"n": 1}, key="one", priority="high", max_runtime=60)
    rest = {pusher.push(n, project="p" if n % 2 else "q", labels=["x"]).id for n in range(10)}
    later = pusher.push("later", after=[first.id])
    lease = queue.claim()
    assert lease is not None and lease.id == first.id
    lease.complete("done")
    found = queue.claim_many(20, project="p", labels=["x"])
    assert len(found) == 5 and {lease.task.project for lease in found} == {"p"}
    found[0].release()
    found[1].fail("no", retry=False)
    again = queue.claim(project="p")
    assert again is not None and (again.id, again.epoch) == (found[0].id, 2)
    assert {lease.id for lease in queue.claim_many(20)} == rest - {lease.id for lease in found} | {later.id}
    assert queue.claim() is None
    assert opened(place()).stats().states[State.FAILED] == 1


@pytest.mark.parametrize("count", [200, 2200])
def test_a_claim_asks_the_same_of_a_longer_queue(place: Url, count: int) -> None:
    opened(place()).push_many(range(count))
    queue = opened(place(upkeep=3600))
    lease = queue.claim()
    assert lease is not None
    before = queue.meter.counts
    for number in range(100):
        queue.push(number)
        lease = queue.claim()
        assert lease is not None
        lease.complete()
    counts = asked(queue, before)
    assert counts["list"] <= 2 and counts["put"] == 400 and counts["get"] <= 104, counts


@pytest.mark.parametrize("way", WAYS)
def test_an_idle_worker_lists_at_most_120_times_an_hour(
    url: Url, settings: dict[str, dict[str, object]], way: str
) -> None:
    clock = ManualClock()
    settings["queue"] = {"discover": f"memory:{uuid4().hex}"}
    queue = opened(url(**settings[way]), clock=clock)
    other = opened(url())
    other.push(1, delay=864000)
    done = other.push(3)
    lease = other.claim()
    assert lease is not None and lease.id == done.id
    lease.complete()
    assert queue.claim() is None
    began, before = clock.boottime(), queue.meter.counts
    assert list(queue.claims(wait=4 * 3600)) == []
    hours = (clock.boottime() - began) / 3600
    assert hours > 3.9
    counts = asked(queue, before)
    assert counts["list"] <= 120 * hours and counts["put"] <= 20 * hours, counts


DRAIN = """
import os, sys, dibs
queue = dibs.open(sys.argv[1])
sys.stdin.readline()
for lease in queue.claims(wait=1):
    os.write(1, f"{lease.id}\\n".encode())
    lease.complete()
os.write(1, f"listed {queue.meter.counts['list']} put {queue.meter.counts['put']}\\n".encode())
"""


def drain(url: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", DRAIN, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def test_processes_share_the_work_and_the_listing(place: Url) -> None:
    direct = opened(place())
    ids = {task.id for task in direct.push_many(range(200))}
    runs = [drain(place(idle=0.5, upkeep=3600)) for _ in range(3)]
    outs = [run.communicate("\n", timeout=LONG_PATIENCE)[0] for run in runs]
    taken = Counter(line for out in outs for line in out.splitlines() if not line.startswith("listed"))
    assert set(taken) == ids and set(taken.values()) == {1}
    assert direct.stats().states[State.COMPLETED] == 200


def test_hosts_that_share_nothing_but_the_bucket_neither_lose_nor_double(url: Url, tmp_path: Path) -> None:
    """Each with a mirror of its own: what one has listed, the others take."""
    direct = opened(url())
    ids = {task.id for task in direct.push_many(range(200))}
    ways: list[dict[str, object]] = [{"mirror": f"{tmp_path}/{n}"} for n in range(2)] + [{"discover": "manifest"}, {}]
    runs = [drain(url(idle=0.5, upkeep=3600, **way)) for way in ways]
    outs = [run.communicate("\n", timeout=LONG_PATIENCE)[0] for run in runs]
    taken = Counter(line for out in outs for line in out.splitlines() if not line.startswith("listed"))
    assert set(taken) == ids and set(taken.values()) == {1}
    assert direct.stats().states[State.COMPLETED] == 200


CLAIM = """
import sys, dibs
queue = dibs.open(sys.argv[1])
print("open", flush=True)
sys.stdin.readline()
queue.claim()
"""


def locked(file: Path) -> bool:
    """Looked up, not tried: whoever tries holds the lock for a moment."""
    return f":{file.stat().st_ino} " in Path("/proc/locks").read_text()


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGSTOP])
def test_the_others_go_on_without_the_one_who_lists(
    url: Url, proxy: FaultProxy, tmp_path: Path, end: signal.Signals
) -> None:
    """Killed, its right to list is free at once; stopped, the others list for themselves."""
    place = url(endpoint=proxy.endpoint, mirror=f"{tmp_path}/m", patience=120, upkeep=3600)
    queue = opened(place)
    tasks = {task.id for task in opened(url()).push_many(range(5))}
    lister = subprocess.Popen(
        [sys.executable, "-c", CLAIM, place], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert lister.stdin is not None and lister.stdout is not None
        assert lister.stdout.readline() == "open\n"
        proxy.faults.add(Rule(Fault.SLOW_DOWN, ("list",), "*/pending/*", times=10**6))
        lister.stdin.write("\n")
        lister.stdin.flush()
        until(lambda: any(locked(file) for file in tmp_path.glob("m/*/listing")))
        lister.send_signal(end)
        if end == signal.SIGKILL:
            lister.wait()
        proxy.faults.calm()
        assert {lease.id for lease in queue.claim_many(9)} == tasks
        assert any(tmp_path.glob("m/*/names")) == (end == signal.SIGKILL)
    finally:
        lister.kill()
        lister.wait()


def test_a_wrong_setting_is_told_what_is_wrong(url: Url, tmp_path: Path) -> None:
    for settings, text in (
        ({"discover": "magic"}, "use listing, mirror:PATH, manifest, or the URL of another queue (file:, memory:"),
        ({"discover": "mirror:"}, "use listing, mirror:PATH"),
        ({"discover": "ftp://x/y"}, "use listing, mirror:PATH"),
        ({"discover": "manifest", "mirror": "m"}, "both mirror= and discover= are given"),
        ({"relist": "soon"}, "number of seconds"),
        ({"discover": f"dir:{tmp_path}"}, "cannot hold names"),
    ):
        with pytest.raises(BadInput) as caught:
            dibs.open(url(**settings))
        assert text in str(caught.value) and "\n" not in str(caught.value)
    with pytest.raises(BadInput, match="is the queue itself"):
        dibs.open(url(discover=url()))


def test_no_secret_of_the_other_queue_is_printed(url: Url) -> None:
    keys = "access_key=AK&secret_key=s3cr3t-inner"
    inner = quote(f"s3://elsewhere/names?{keys}&patience=0.2&endpoint=http://127.0.0.1:9", safe="")
    queue = dibs.open(f"{url()}&patience=0.1&discover={inner}")
    assert "s3cr3t" not in repr(queue)
    queue.push(1)
    with pytest.raises(StorageError, match="cannot learn what is ready from s3://elsewhere/names") as caught:
        queue.claim()
    assert "s3cr3t" not in str(caught.value) and "\n" not in str(caught.value)
