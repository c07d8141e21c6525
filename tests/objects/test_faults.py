"""Eight processes on one queue in a bucket, through a network that does everything wrong, killed again and again."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import dibs
from dibs.states import State
from servers.faults import Fault, Faults
from servers.proxy import FaultProxy
from servers.server import Server
from waiting import LONG_PATIENCE

WORKERS = 8
TASKS, KILLS = (2000, 20) if os.environ.get("DIBS_LONG") else (700, 8)
CHANCES = {
    Fault.LOST: 0.01,
    Fault.ERROR: 0.01,
    Fault.ERROR_LATE: 0.01,
    Fault.SLOW_DOWN: 0.01,
    Fault.CONFLICT: 0.01,
    Fault.RESET: 0.01,
    Fault.TWICE: 0.01,
    Fault.STALL: 0.002,
    Fault.LAG: 0.05,
}
WORK = """
import os, sys, dibs
from dibs.errors import LeaseLost, StorageError
queue = dibs.open(sys.argv[1])
log = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
while True:
    try:
        lease = queue.claim(ttl=5, wait=1)
        if lease is None:
            continue
        os.write(log, f"holds {lease.id} {lease.epoch}\\n".encode())
        lease.complete(lease.epoch)
        os.write(log, f"completed {lease.id} {lease.epoch}\\n".encode())
    except (LeaseLost, StorageError):
        pass
"""


def test_nothing_is_lost_and_nothing_completed_twice(seaweed: Server, url: Callable[..., str], tmp_path: Path) -> None:
    direct = dibs.open(url())
    ids = {task.id for task in direct.push_many(range(TASKS))}
    rng = random.Random(1)
    log = tmp_path / "log"
    log.touch()
    faults = Faults(chances=CHANCES, seed=1, stall_seconds=3.0, lag_seconds=2.0)
    with FaultProxy(seaweed.endpoint, faults) as proxy:
        place = url(endpoint=proxy.endpoint, fresh=2, upkeep=1, idle=0.2, patience=3, timeout=10)

        def start() -> "subprocess.Popen[bytes]":
            return subprocess.Popen([sys.executable, "-c", WORK, place, str(log)], stderr=subprocess.DEVNULL)

        workers = [start() for _ in range(WORKERS)]
        try:
            killed, deadline = 0, time.monotonic() + LONG_PATIENCE
            while len(_lines(log, "completed")) < TASKS - KILLS:
                assert time.monotonic() < deadline, Counter(_lines(log, "completed")).most_common(1)
                time.sleep(0.5)
                if killed < KILLS:
                    number = rng.randrange(WORKERS)
                    os.kill(workers[number].pid, signal.SIGKILL)
                    workers[number].wait()
                    workers[number] = start()
                    killed += 1
            while direct.stats().states[State.COMPLETED] < TASKS:
                assert time.monotonic() < deadline, direct.stats().states
                time.sleep(0.5)
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()
        done = Counter(proxy.done)
    for fault in CHANCES:
        assert done[fault] > 0, f"{fault} never happened"
    states = direct.stats().states
    assert {state: count for state, count in states.items() if count} == {State.COMPLETED: TASKS}
    assert {task.id for task in direct.tasks(State.COMPLETED)} == ids
    assert [line for line, times in Counter(_lines(log, "holds")).items() if times > 1] == []
    completed = Counter(line.split()[1] for line in _lines(log, "completed"))
    assert [task_id for task_id, times in completed.items() if times > 1] == []


def _lines(log: Path, what: str) -> list[str]:
    return [line for line in log.read_text().splitlines() if line.startswith(what)]
