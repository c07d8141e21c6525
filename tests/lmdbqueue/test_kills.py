"""Processes killed at any moment, several at a time: nothing is lost and nothing is completed twice."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import dibs
from children import command, environment
from dibs.queues.queue import Queue
from lmdbqueue.whole import check_whole
from waiting import LONG_PATIENCE

TASKS, KILLS = (1500, 200) if os.environ.get("DIBS_LONG") else (300, 10)


def start(role: str, url: str, count: int = 0) -> "subprocess.Popen[str]":
    pipe = subprocess.PIPE
    words = command("redisqueue.hand", role, url, str(count))
    return subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True, env=environment())


def told(process: "subprocess.Popen[str]") -> list[list[str]]:
    """What it said before it was killed; its last line may be cut."""
    out, _ = process.communicate(timeout=LONG_PATIENCE)
    assert process.returncode in (0, -signal.SIGKILL)
    return [json.loads(line) for line in out.splitlines(keepends=True) if line.endswith("\n")]


def mayhem(queue: Queue, url: str, rng: random.Random) -> list[list[str]]:
    """What four processes said, of which one after the other was killed and started anew until enough was done."""
    lines: list[list[str]] = []
    running = {role: start(role.strip("12"), url, TASKS // 4) for role in ("push1", "push2", "work1", "work2")}
    kills = 0
    while kills < KILLS or queue.stats().states["completed"] < TASKS:
        time.sleep(rng.random() / 4)
        role = rng.choice(sorted(running))
        running[role].kill()
        kills += 1
        lines += told(running[role])
        running[role] = start(role.strip("12"), url, TASKS // 4)
    for role in ("push1", "push2"):
        running[role].kill()
    for role in sorted(running):
        lines += told(running[role])
    return lines


@pytest.mark.parametrize("sync", ["on", "off"])
def test_processes_killed_at_random_lose_nothing(quick_folder: Path, sync: str) -> None:
    seed = random.randrange(10**6)
    url = f"lmdb:{quick_folder}/q?sync={sync}&map=65536"
    queue = dibs.open(url)
    lines = mayhem(queue, url, random.Random(seed))
    for process in [start("work", url), start("work", url)]:
        lines += told(process)
    pushed = {value for what, value in lines if what == "pushed"}
    completed = Counter(value for what, value in lines if what == "completed")
    ended = {task.id: queue.detail(task.id) for task in queue.tasks("completed")}
    states = queue.stats().states
    assert sum(states.values()) == states["completed"], f"seed {seed}: {states}"
    assert pushed <= set(ended), f"seed {seed}: lost"
    assert set(completed) <= set(ended), f"seed {seed}: undone"
    assert max(completed.values()) == 1, f"seed {seed}: completed twice"
    done = [[event.what for event in detail.history].count("completed") for detail in ended.values()]
    assert set(done) == {1}, f"seed {seed}: recorded twice"
    check_whole(queue)
    queue.close()


def test_a_kill_in_the_midst_of_a_transaction_undoes_it(quick_folder: Path) -> None:
    url = f"lmdb:{quick_folder}/q?sync=off"
    code = (
        "import os, signal, dibs\n"
        f"queue = dibs.open({url!r})\n"
        "def step(txn):\n"
        "    lease = queue._claimer\n"
        "    ids = lease.candidates(txn, dibs.facets.EVERYTHING, 5)\n"
        "    from dibs.queues.lmdb.cells import Cells\n"
        "    cells = Cells(txn, queue.clock)\n"
        "    lease._taking.take(cells, ids, (b'me', b'me.1', 1, 1, 60_000_000))\n"
        "    cells.finish()\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "queue._database.write(step)\n"
    )
    with dibs.open(url) as queue:
        queue.push_many(range(10))
        for _ in range(3):
            words = [sys.executable, "-c", f"import dibs.facets\n{code}"]
            done = subprocess.run(words, env=environment(), check=False)
            assert done.returncode == -signal.SIGKILL
            assert queue.stats().states["ready"] == 10
            check_whole(queue)
        assert {lease.epoch for lease in queue.claim_many(20)} == {1}
