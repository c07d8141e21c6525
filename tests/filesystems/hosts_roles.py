"""What a process of a "host" does until it is killed. Each writes what *returned* to a log of its own.

The hosts have other names, boots and clocks. A storage that fails is tried again, as any worker does that is to
survive it.
"""

import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import dibs
from dibs.host import Host
from hosts.member import WrongClock

TTL = float(os.environ.get("DIBS_CHAOS_TTL", "4"))
HOLD = float(os.environ.get("DIBS_CHAOS_HOLD", "0"))  # at most so long for a task: fast disks end too soon else
LOTS = 1_000_000
HOSTS = {"near": 0.0, "far": 3600.0}  # how wrong their clocks are
FORMS = {"file": "{}/q", "keys": "{}/k", "dir": "dir:{}/in?done={}/out&settle=0"}
KEYS = 6
PAUSE = 0.05
Log = Callable[[str], object]


def url_of(form: str, mount: str) -> str:
    return FORMS[form].replace("{}", mount)


def open_as(url: str, name: str) -> dibs.Queue:
    host = Host(name=name, machine=name, boot=f"boot-{name}", space=f"pid:[{name}]")
    clock = WrongClock(HOSTS[name], 500_000.0 if name == "far" else 0.0, by_wall=False)
    return dibs.open(url, clock=clock, host=host)


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
        log(f"finishing {lease.id} {time.monotonic()}")
        while True:
            try:
                lease.complete()
                log(f"completed {lease.id} {lease.epoch}")
                break
            except dibs.LeaseLost:
                log(f"refused {lease.id} {lease.epoch}")
                break
            except dibs.StorageError:
                time.sleep(PAUSE)


def produce(queue: dibs.Queue, log: Log) -> None:
    """A few keys, which the producers of all hosts push over and over."""
    rng = random.Random()
    while True:
        key, start = f"key-{rng.randrange(KEYS)}", time.monotonic()
        try:
            task = queue.push({"key": key}, key=key, max_attempts=LOTS, max_deaths=LOTS)
        except dibs.StorageError:
            time.sleep(PAUSE)
            continue
        log(f"keyed {task.id} {key} {start} {time.monotonic()}")
        log(f"pushed {task.id}")


ROLES = {"work": work, "produce": produce}


def start(role: str, url: str, logs: Path, name: str, number: int) -> int:
    pid = os.fork()
    if not pid:
        try:
            file = os.open(logs / f"{number}-{name}-{role}", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
            run(role, url, name, lambda line: os.write(file, line.encode() + b"\n"))
        finally:
            os._exit(1)
    return pid


def run(role: str, url: str, name: str, log: Log) -> None:
    while True:
        try:
            queue = open_as(url, name)
            break
        except dibs.StorageError:
            time.sleep(PAUSE)
    try:
        ROLES[role](queue, log)
    except Exception as error:
        log(f"broke {type(error).__name__}: {error}".replace("\n", " "))
