"""Workers of two "hosts" (other names, boots and clocks) on one folder, killed and stopped. Run as a script:

    python -m filesystems.hosts_chaos FOLDER[:FOLDER2] LOGS SEED TASKS      the second: where "far" has it mounted

Prints "go" when all tasks are pushed; whoever started it may make the storage fail for a while. Ends when all tasks are
completed, or after a time; then prints JSON.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import dibs
from crash.chaos import judge
from dibs.host import Host
from dibs.states import LIVE
from dibs.task import NewTask
from hosts.member import WrongClock

TTL = float(os.environ.get("DIBS_CHAOS_TTL", "4"))
LOTS = 1_000_000
MOST_SECONDS = float(os.environ.get("DIBS_CHAOS_SECONDS", "240"))
HOSTS = {"near": 0.0, "far": 3600.0}  # how wrong their clocks are
PER_HOST = 2


def open_as(path: str, name: str) -> dibs.Queue:
    host = Host(name=name, machine=name, boot=f"boot-{name}", space=f"pid:[{name}]")
    clock = WrongClock(HOSTS[name], 500_000.0 if name == "far" else 0.0, by_wall=False)
    return dibs.open(path, clock=clock, host=host)


def work(path: str, name: str, log: int) -> None:
    """A storage that fails is tried again, as any worker does that is to survive it."""
    queue = None
    while True:
        try:
            queue = queue or open_as(path, name)
            lease = queue.claim(ttl=TTL, wait=1)
        except dibs.StorageError:
            time.sleep(0.05)
            continue
        if lease is None:
            continue
        os.write(log, f"claimed {lease.id} {lease.epoch}\n".encode())
        while True:
            try:
                lease.complete()
                os.write(log, f"completed {lease.id} {lease.epoch}\n".encode())
                break
            except dibs.LeaseLost:
                os.write(log, f"refused {lease.id} {lease.epoch}\n".encode())
                break
            except dibs.StorageError:
                time.sleep(0.05)


def start(path: str, logs: Path, name: str, number: int) -> int:
    pid = os.fork()
    if not pid:
        try:
            work(path, name, os.open(logs / f"{number}-{name}", os.O_CREAT | os.O_WRONLY | os.O_APPEND))
        finally:
            os._exit(1)
    return pid


def main(folder: str, log_folder: str, seed: str, tasks: str) -> None:
    rng, logs = random.Random(int(seed)), Path(log_folder)
    near, _, far = folder.partition(":")
    path, paths = f"{near}/q", {"near": f"{near}/q", "far": f"{far or near}/q"}
    with dibs.open(path) as queue, (logs / "push").open("w") as log:
        many = [NewTask(payload=n, max_attempts=LOTS, max_deaths=LOTS) for n in range(int(tasks))]
        for task in queue.push_many(many):
            log.write(f"pushed {task.id}\n")
    print("go", flush=True)
    running = {start(paths[name], logs, name, number): name for name in HOSTS for number in range(PER_HOST)}
    number, kills, stops = PER_HOST, 0, 0
    stopped: dict[int, float] = {}
    until = time.monotonic() + MOST_SECONDS
    with dibs.open(path) as queue:
        while time.monotonic() < until:
            time.sleep(0.15)
            try:
                if not any(queue.stats().states[state] for state in LIVE):
                    break
            except dibs.StorageError:
                continue
            pid = rng.choice(list(running))
            luck = rng.random()
            if luck < 0.25:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                stopped.pop(pid, None)
                number, kills = number + 1, kills + 1
                name = running.pop(pid)
                running[start(paths[name], logs, name, number)] = name
            elif luck < 0.35 and not stopped:
                os.kill(pid, signal.SIGSTOP)
                stopped[pid], stops = time.monotonic() + TTL * 1.7, stops + 1
            for one, when in list(stopped.items()):
                if time.monotonic() > when:
                    os.kill(one, signal.SIGCONT)
                    del stopped[one]
    for pid in running:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    print(json.dumps({"kills": kills, "stops": stops, **judge(path, logs)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
