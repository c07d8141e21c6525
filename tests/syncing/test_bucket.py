"""Two sites and a bucket: the network goes away, syncers are killed, and everything is done once."""

import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import children
import dibs
from dibs.queues.queue import Queue
from dibs.states import LIVE, State
from objects.test_outage import completed
from servers.proxy import FaultProxy
from waiting import PATIENCE, until

Url = Callable[..., str]
FAST = {"idle": 0.2, "fresh": 0.3, "upkeep": 0.3, "patience": 1, "timeout": 5}


def start_syncer(folder: Path, place: str, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "dibs", "sync", str(folder), place, "--watch", "--every", "0.1s", *more],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=children.environment(),
    )  # fmt: skip


def end(syncer: subprocess.Popen[str]) -> str:
    syncer.terminate()
    out, _ = syncer.communicate(timeout=PATIENCE)
    assert syncer.returncode in (130, -15), out  # -15: it had not yet begun
    assert "Traceback" not in out
    assert "s3cr3t" not in out
    return out


@contextmanager
def working(queue: Queue, ran: Counter[str]) -> Iterator[None]:
    """Somebody works on a site's queue, whatever becomes of its syncer."""
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            for lease in queue.claims(wait=0.0):
                ran[lease.id] += 1
                lease.complete({"at": queue.address})
            over.wait(0.05)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        yield
    finally:
        over.set()
        worker.join()


def test_a_site_works_on_while_the_network_is_away(url: Url, proxy: FaultProxy, tmp_path: Path) -> None:
    direct = dibs.open(url(**FAST))
    direct.push_many(range(20))
    here = dibs.open(f"file:{tmp_path}/here?sync=off")
    ran: Counter[str] = Counter()
    syncer = start_syncer(tmp_path / "here", url(endpoint=proxy.endpoint, **FAST), "--batch", "8")
    said: list[str] = []
    assert syncer.stdout is not None
    reader = threading.Thread(target=lambda: said.extend(iter(syncer.stdout.readline, "")))
    reader.start()
    try:
        until(lambda: here.stats().states[State.READY], equals=8)
        proxy.cut()
        with working(here, ran):
            until(lambda: len(ran), equals=8)
            offline = here.push("offline", key="offline")
            until(lambda: len(ran) == 9 and any("cannot reach" in line for line in said))
            assert completed(direct) == 0
            proxy.mend()
            until(lambda: completed(direct), equals=21)
        syncer.terminate()
        assert syncer.wait(60) == 130
    finally:
        syncer.kill()
        reader.join()
        print("".join(said))  # shown when the test fails
    out = "".join(said)
    assert out.count("cannot reach") == 1
    assert "is reachable again" in out
    assert "Traceback" not in out
    assert "s3cr3t" not in out
    assert set(ran.values()) == {1}
    assert direct.detail(offline.id).result == {"at": here.address}


def test_syncers_that_are_killed_again_and_again(url: Url, tmp_path: Path) -> None:
    seed = random.randrange(10**9)
    rng = random.Random(seed)
    place = url(**FAST)
    direct = dibs.open(place)
    sites = [dibs.open(f"file:{tmp_path}/{name}?sync=off") for name in ("a", "b")]
    pushed = {task.id for task in direct.push_many(range(60))}
    for number, site in enumerate(sites):
        pushed |= {task.id for task in site.push_many(f"{number}-{n}" for n in range(20))}
    ran: Counter[str] = Counter()
    folders = [tmp_path / "a", tmp_path / "b"]
    running = [start_syncer(folder, place, "--batch", "10") for folder in folders]
    try:
        with working(sites[0], ran), working(sites[1], ran):
            for _ in range(6):
                threading.Event().wait(rng.uniform(0.5, 1.2))
                which = rng.randrange(2)
                running[which].kill()
                running[which].communicate()
                running[which] = start_syncer(folders[which], place, "--batch", "10")
            until(lambda: completed(direct), equals=len(pushed))
        for syncer in running:
            assert "conflict" not in end(syncer), f"seed {seed}"
    finally:
        for syncer in running:
            syncer.kill()
            print(syncer.communicate()[0])
    assert ran == Counter(pushed), f"seed {seed}"
    assert {task.id for task in direct.tasks(State.COMPLETED)} == pushed
    for site in sites:
        assert not [task for task in site.tasks() if task.state in LIVE]
