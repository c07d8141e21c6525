"""Processes of two "hosts" on one folder, killed and stopped. Run as a script:

    python -m filesystems.hosts_chaos FORM FOLDER[:FOLDER2] LOGS SEED TASKS      the second: where "far" has it mounted

FORM is file (all tasks are pushed beforehand), keys (both hosts push the same few keys meanwhile) or dir (a folder of
files).
Prints "go" when they begin; whoever started it may make the storage fail for a while. Ends when all tasks are
completed, or after a time; then prints JSON.
"""

import json
import os
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import dibs
from crash.chaos import lines
from dibs.states import LIVE
from dibs.task import NewTask
from filesystems.hosts_judge import judged
from filesystems.hosts_roles import HOSTS, LOTS, TTL, start, url_of

MOST_SECONDS = float(os.environ.get("DIBS_CHAOS_SECONDS", "240"))
PER_HOST = 2


def fill(form: str, mount: str, logs: Path, tasks: int) -> None:
    with (logs / "push").open("w") as log:
        if form == "dir":
            os.mkdir(f"{mount}/in")
            for number in range(tasks):
                Path(f"{mount}/in/{number:05}.txt").write_text(f"{number}\n")
                log.write(f"pushed {number:05}.txt\n")
        with dibs.open(url_of(form, mount)) as queue:
            if form == "file":
                many = [NewTask(payload=n, max_attempts=LOTS, max_deaths=LOTS) for n in range(tasks)]
                for task in queue.push_many(many):
                    log.write(f"pushed {task.id}\n")


class Pack:
    """The processes of both hosts, `urls`: where each has the queue."""

    def __init__(self, urls: dict[str, str], logs: Path, rng: random.Random) -> None:
        self._urls, self._logs, self._rng = urls, logs, rng
        self._started = 0
        self._stopped: dict[int, float] = {}
        self._running: dict[int, tuple[str, str]] = {}
        self.kills = self.stops = 0

    def start(self, role: str, name: str) -> None:
        self._started += 1
        self._running[start(role, self._urls[name], self._logs, name, self._started)] = (role, name)

    def harm(self) -> None:
        pid, luck = self._rng.choice(list(self._running)), self._rng.random()
        if luck < 0.25 or not self.kills:
            self.kills += 1
            self.start(*self._kill(pid))
        elif (luck < 0.35 or not self.stops) and not self._stopped:
            os.kill(pid, signal.SIGSTOP)
            self._stopped[pid], self.stops = time.monotonic() + TTL * 1.7, self.stops + 1
        for one, when in list(self._stopped.items()):
            if time.monotonic() > when:
                os.kill(one, signal.SIGCONT)
                del self._stopped[one]

    def end(self, *roles: str) -> None:
        for pid in [pid for pid, (role, _) in self._running.items() if role in roles]:
            self._kill(pid)

    def _kill(self, pid: int) -> tuple[str, str]:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        self._stopped.pop(pid, None)
        return self._running.pop(pid)


def main(form: str, folder: str, log_folder: str, seed: str, tasks: str) -> None:
    near, _, far = folder.partition(":")
    urls, logs = {"near": url_of(form, near), "far": url_of(form, far or near)}, Path(log_folder)
    fill(form, near, logs, int(tasks))
    print("go", flush=True)
    pack = Pack(urls, logs, random.Random(int(seed)))
    for name in HOSTS:
        for _ in range(PER_HOST):
            pack.start("work", name)
        if form == "keys":
            pack.start("produce", name)
    pushing = form == "keys"
    seen, until = -1, time.monotonic() + MOST_SECONDS
    with dibs.open(urls["near"]) as queue:
        while time.monotonic() < until:
            time.sleep(0.15)
            said = Counter(line[0] for line in lines(logs))
            if pushing and said["pushed"] >= int(tasks):
                pack.end("produce")
                pushing = False
            try:
                if not pushing and said["completed"] == seen and not any(queue.stats().states[one] for one in LIVE):
                    break
            except dibs.StorageError:
                continue
            seen = said["completed"]  # looking at a share costs much: only when they seem to have nothing to do
            pack.harm()
    pack.end("produce", "work")
    print(json.dumps({"kills": pack.kills, "stops": pack.stops, **judged(form, urls["near"], logs)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
