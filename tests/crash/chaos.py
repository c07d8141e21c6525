"""Producers, workers and stewards that are killed at random and started again. Run as a script:

    python -m crash.chaos FOLDER SEED TASKS

Each child writes what *returned* to a log of its own, one line by one write, after it returned. When TASKS were
pushed, or after MOST_SECONDS, and when it was HARD, the killing ends, unharmed workers drain the queue, and the logs
are compared with the files. Prints JSON.
"""

import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import dibs
from dibs.states import LIVE
from dibs.task import NewTask
from disk.inspect_files import epoch_of, places, problems, state_of

ROLES = ("produce", "produce", "work", "work", "work", "steward")
LOTS = 1_000_000
MOST_SECONDS = 20.0
HARD = {"pushed": 600, "taken over": 12, "kills": 12}  # it goes on for longer until there were so many
LONGEST_SECONDS = 300.0
DRAIN_SECONDS = 300.0
Log = Callable[[str], object]


def produce(path: str, log: Log, rng: random.Random) -> None:
    queue = dibs.open(path)
    last = ""
    while True:
        kind = rng.randrange(6)
        common = {"max_attempts": LOTS, "max_deaths": LOTS, "backoff": 0.0, "project": rng.choice([None, "p", "q"])}
        if kind == 0:
            tasks = queue.push_many([NewTask(payload={"n": n}, **common) for n in range(rng.randrange(2, 9))])
        elif kind == 1:
            tasks = [queue.push({"k": 1}, key=f"key-{rng.randrange(40)}", **common)]
        elif kind == 2:
            tasks = [queue.push({"d": 1}, delay=rng.random() / 50, **common)]
        elif kind == 3 and last:
            tasks = [queue.push({"a": 1}, after=[last], **common)]
        elif kind == 4:
            tasks = [queue.push({"cancel": True}, priority="low", **common)]
        else:
            tasks = [queue.push({"n": 1}, priority=rng.choice(["low", "high"]), **common)]
        for task in tasks:
            log(f"pushed {task.id}")
        last = last if kind == 4 else tasks[-1].id  # what may be cancelled would block its dependants for ever


def work(path: str, log: Log, rng: random.Random) -> None:
    queue = dibs.open(path)
    for lease in queue.claims(ttl=20, wait=None):
        luck = rng.random()
        log(f"claimed {lease.id} {lease.epoch}")
        try:
            if luck < 0.1:
                lease.renew()
            if luck < 0.05:
                lease.fail("unlucky")
            elif luck > 0.95:
                lease.release()
            else:
                lease.complete({"by": os.getpid()} if luck < 0.5 else None)
                log(f"completed {lease.id} {lease.epoch}")
        except dibs.LeaseLost:
            log(f"refused {lease.id} {lease.epoch}")


def steward(path: str, log: Log, rng: random.Random) -> None:
    queue = dibs.open(path)
    while True:
        for task in list(queue.tasks("ready", limit=200)):
            if task.payload == {"cancel": True} and rng.random() < 0.3:
                log(f"cancelling {task.id}")
                try:
                    queue.cancel(task.id)
                except (dibs.Refused, dibs.TaskNotFound):
                    pass  # somebody was quicker
        queue.purge("cancelled", older_than=0)
        queue.stats()
        if rng.random() < 0.2:
            queue.pause("a moment")
        queue.resume()


class Pack:
    """The children: each slot of a role is filled again when its child was killed."""

    def __init__(self, path: str, logs: Path, seed: int) -> None:
        self._path = path
        self._logs = logs
        self._seed = seed
        self._started = 0
        self.running: dict[int, str] = {}
        self.failed: list[str] = []

    def start(self, role: str) -> None:
        self._started += 1
        pid = os.fork()
        if pid:
            self.running[pid] = role
            return
        code = 1
        try:
            log = os.open(self._logs / f"{self._started}-{role}", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
            act = {"produce": produce, "work": work, "steward": steward}[role]
            try:
                act(
                    self._path,
                    lambda line: os.write(log, line.encode() + b"\n"),
                    random.Random(self._seed + self._started),
                )
            except Exception as error:
                os.write(log, f"broke {type(error).__name__}: {error}\n".replace("\n", " ").encode() + b"\n")
            code = 0
        finally:
            os._exit(code)

    def kill(self, pid: int) -> str:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return self.running.pop(pid)


def lines(logs: Path) -> Iterator[list[str]]:
    for log in logs.iterdir():
        for line in log.read_text().splitlines():
            yield line.split(" ", 2)


def hardness(logs: Path) -> Counter[str]:
    found: Counter[str] = Counter()
    for word, *rest in lines(logs):
        found["pushed"] += word == "pushed"
        found["taken over"] += word == "completed" and rest[1] != "1"
    return found


def main(folder: str, seed: str, tasks: str) -> None:
    rng = random.Random(int(seed))
    path, logs = f"{folder}/q", Path(folder, "logs")
    logs.mkdir()
    dibs.open(path)
    pack = Pack(path, logs, int(seed))
    for role in ROLES:
        pack.start(role)
    kills: Counter[str] = Counter()
    begun, rounds, pace, pushed = time.monotonic(), 0, 1.0, 0
    while time.monotonic() < begun + LONGEST_SECONDS:
        rounds += 1
        if rounds % 20 == 0:
            before, found = pushed, hardness(logs)
            pushed = found["pushed"]
            found["kills"] = min(kills[role] for role in set(ROLES))
            enough = pushed >= int(tasks) or time.monotonic() > begun + MOST_SECONDS
            if enough and all(found[what] >= count for what, count in HARD.items()):
                break
            if pushed == before:
                pace *= 2  # on a machine so busy that nobody lives long enough to push
        time.sleep(pace * rng.choice([0.001, 0.005, 0.02]))
        role = pack.kill(rng.choice(list(pack.running)))
        kills[role] += 1
        pack.start(role)
    for pid in list(pack.running):
        pack.kill(pid)
    queue = dibs.open(path)
    queue.resume()
    for _ in range(3):
        pack.start("work")
    until = time.monotonic() + DRAIN_SECONDS
    while any(queue.stats().states[state] for state in LIVE) and time.monotonic() < until:
        time.sleep(0.02)
    for pid in list(pack.running):
        pack.kill(pid)
    print(json.dumps({"kills": kills, **judge(path, logs)}))


def judge(path: str, logs: Path) -> dict[str, object]:
    said: dict[str, list[list[str]]] = {}
    for word, *rest in lines(logs):
        said.setdefault(word, []).append(rest)
    pushed = {task_id for (task_id,) in said.get("pushed", [])}
    cancelling = {task_id for (task_id,) in said.get("cancelling", [])}
    completed = Counter(task_id for task_id, _ in said.get("completed", []))
    claimed = Counter((task_id, epoch) for task_id, epoch in said.get("claimed", []))
    found = places(path)
    finished = {task_id: paths[0] for task_id, paths in found.items() if state_of(paths[0]) == "completed"}
    return {
        "pushed": len(pushed),
        "completed": len(finished),
        "taken over": sum(int(epoch) > 1 for _, epoch in said.get("completed", [])),
        "lost": sorted(pushed - set(found) - cancelling),
        "not run": sorted(
            task_id for task_id, paths in found.items() if state_of(paths[0]) not in ("completed", "cancelled")
        ),
        "cancelled by nobody": sorted(
            task_id
            for task_id, paths in found.items()
            if state_of(paths[0]) == "cancelled" and task_id in pushed - cancelling
        ),
        "completed twice": sorted(task_id for task_id, times in completed.items() if times > 1),
        "claimed twice at an epoch": sorted(f"{claim}" for claim, times in claimed.items() if times > 1),
        "completed but not so on disk": sorted(
            task_id
            for task_id, epoch in said.get("completed", [])
            if task_id not in finished or epoch_of(finished[task_id]) != int(epoch)
        ),
        "refused for no reason": sorted(task_id for task_id, _ in said.get("refused", []) if task_id not in cancelling),
        "problems": problems(path),
        "broke": sorted({" ".join(rest) for rest in said.get("broke", [])}),
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
