"""Eight processes on one folder, some of them killed at any moment."""

import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import dibs
from waiting import PATIENCE, until

WORK = """
import os, sys
import dibs
queue = dibs.open(sys.argv[1])
log = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
for lease in queue.claims(ttl=30, wait=0.3):
    os.write(log, f"claim {lease.id} {lease.epoch}\\n".encode())
    lease.complete(os.getpid())
    os.write(log, f"complete {lease.id} {lease.epoch}\\n".encode())
"""


def start(url: str, log: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-c", WORK, url, str(log)])


def read(log: Path) -> tuple[Counter[str], Counter[str]]:
    lines = log.read_text().splitlines()
    claims = Counter(line.removeprefix("claim ") for line in lines if line.startswith("claim "))
    return claims, Counter(line.split()[1] for line in lines if line.startswith("complete "))


def fill(tmp_path: Path, count: int) -> str:
    root = tmp_path / "in"
    for number in range(count):
        path = root / str(number % 3) / str(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
        os.utime(path, (1, 1))
    return f"dir:{root}?max_deaths=1000"


def test_killed_workers_lose_nothing_and_complete_nothing_twice(tmp_path: Path) -> None:
    url = fill(tmp_path, 600)
    log = tmp_path / "log"
    rng = random.Random(7)
    workers = [start(url, log) for _ in range(8)]
    try:
        done = tmp_path / "in.done"
        for kills in range(12):
            target = 40 * (kills + 1)
            until(lambda target=target: sum(len(files) for _, _, files in os.walk(done)) >= target)  # type: ignore[misc]
            victim = rng.randrange(len(workers))
            os.kill(workers[victim].pid, signal.SIGKILL)
            workers[victim].wait()
            workers[victim] = start(url, log)
        for worker in workers:
            assert worker.wait(PATIENCE) == 0
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    queue = dibs.open(url)
    for lease in queue.claims():  # what the last to be killed held
        lease.complete()
    claims, completed = read(log)
    assert set(claims.values()) == {1}, "claimed twice at one epoch"
    assert set(completed.values()) == {1}, "completed twice"
    assert queue.stats().states["completed"] == queue.stats().total == 600
    for path in done.rglob("*"):
        if path.is_file() and not path.name.startswith("."):
            record = json.loads(path.read_text())
            assert record["task"] == str(path.relative_to(done))
    assert not list((tmp_path / "in.leases").glob("*.lease"))


def test_stale_leases_are_taken_over_once(tmp_path: Path) -> None:
    url = fill(tmp_path, 300)
    log = tmp_path / "log"
    code = "import sys, dibs; assert len(dibs.open(sys.argv[1]).claim_many(300)) == 300"
    subprocess.run([sys.executable, "-c", code, url], check=True)
    workers = [start(url, log) for _ in range(8)]
    for worker in workers:
        assert worker.wait(PATIENCE) == 0
    claims, completed = read(log)
    tasks = [f"{number % 3}/{number}" for number in range(300)]
    assert claims == Counter(f"{task} 2" for task in tasks)
    assert completed == Counter(tasks)
