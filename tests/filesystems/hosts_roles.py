"""What a process of a host does until it is killed. Each writes what *returned* to a log of its own.

`work` and `produce` are loops of their own: a storage that fails they try again, as any worker does that is to survive
it. `command` is `dibs work` as it is, which goes on by itself.
"""

import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dibs

TTL = float(os.environ.get("DIBS_CHAOS_TTL", "4"))
HOLD = float(os.environ.get("DIBS_CHAOS_HOLD", "0"))  # at most so long for a task: fast disks end too soon else
LOTS = 1_000_000
FORMS = {"file": "{}/q", "keys": "{}/k", "dir": "dir:{}/in?done={}/out&settle=0"}
KEYS = 6
PAUSE = 0.05
EVENTS = ".jsonl"  # ends the name of what `dibs work` told
WORDS = ".stderr"
Log = Callable[[str], object]


def shared_time() -> float:
    """A clock that is the same on all machines, for the judge: no namespace has its own, and nobody makes it wrong."""
    return time.clock_gettime(time.CLOCK_TAI)


def url_of(form: str, mount: str) -> str:
    return FORMS[form].replace("{}", mount)


def main(role: str, url: str, logs: str, name: str) -> None:
    """`name`: of this process's log, which a process that takes its place goes on with."""
    path = Path(logs, name)
    if role == "command":
        work_by_command(url, path)
    file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)

    def log(line: str) -> object:
        return os.write(file, line.encode() + b"\n")

    try:
        ROLES[role](opened(url), log)
    except Exception as error:
        log(f"broke {type(error).__name__}: {error}".replace("\n", " "))


def opened(url: str) -> dibs.Queue:
    while True:
        try:
            return dibs.open(url)
        except dibs.StorageError:
            time.sleep(PAUSE)


def work(queue: dibs.Queue, log: Log) -> None:
    while True:
        try:
            lease = queue.claim(ttl=TTL, wait=1)
        except dibs.StorageError:
            time.sleep(PAUSE)
            continue
        if lease is None:
            continue
        log(f"claimed {lease.id} {lease.epoch}")
        time.sleep(random.random() * HOLD)
        log(f"finishing {lease.id} {shared_time()}")
        while True:
            try:
                lease.complete()
                log(f"completed {lease.id} {lease.epoch}")
                break
            except dibs.LeaseLost:
                log(f"refused {lease.id} {lease.epoch}")
                if queue.clock.boottime() - lease.since < TTL:
                    log(f"stolen {lease.id} {lease.epoch}")
                break
            except dibs.StorageError:
                time.sleep(PAUSE)


def produce(queue: dibs.Queue, log: Log) -> None:
    """A few keys, which the producers of all hosts push over and over."""
    rng = random.Random()
    while True:
        key, start = f"key-{rng.randrange(KEYS)}", shared_time()
        try:
            task = queue.push({"key": key}, key=key, max_attempts=LOTS, max_deaths=LOTS)
        except dibs.StorageError:
            time.sleep(PAUSE)
            continue
        log(f"keyed {task.id} {key} {start} {shared_time()}")
        log(f"pushed {task.id}")


ROLES = {"work": work, "produce": produce}


def work_by_command(url: str, path: Path) -> None:
    os.environ["DIBS_CHAOS_LOG"] = str(path)
    for number, name in ((1, EVENTS), (2, WORDS)):
        os.dup2(os.open(f"{path}{name}", os.O_CREAT | os.O_WRONLY | os.O_APPEND), number)
    options = ["--json", "--trust-place", "--ttl", f"{TTL}s", "--call", f"{__name__}:task"]
    os.execv(sys.executable, [sys.executable, "-m", "dibs", "work", url, *options])


def task(payload: Any, lease: dibs.Lease) -> None:
    """What `dibs work` calls."""
    line = f"claimed {lease.id} {lease.epoch}\n"
    with open(os.environ["DIBS_CHAOS_LOG"], "ab", buffering=0) as log:
        log.write(line.encode())
        time.sleep(random.random() * HOLD)
        log.write(f"finishing {lease.id} {shared_time()}\n".encode())
