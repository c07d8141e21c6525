"""Eight workers, half through a daemon and half on the files, while daemon and workers are killed: nothing is lost and
nothing completed twice. With DIBS_LONG=1 thousands of tasks and dozens of kills."""

import os
import random
import subprocess
import threading
from collections import Counter
from pathlib import Path

import dibs
from children import command, environment
from serve.process import Process
from waiting import LONG_PATIENCE

LONG = bool(os.environ.get("DIBS_LONG"))
TASKS = 5000 if LONG else 600
ROUNDS = 12 if LONG else 3  # each: the daemon, some workers, both at once
WORKERS = 8
SEED = 20


def test_nothing_is_lost_and_nothing_completed_twice(quick_folder: Path) -> None:
    direct = f"file:{quick_folder}/q?sync=off"
    serving = Process(quick_folder, direct)
    rng = random.Random(SEED)
    workers: list[subprocess.Popen[str]] = []
    pause = threading.Event()
    killed = 0

    def begin(number: int) -> None:
        url = serving.url("q") if number % 2 else direct
        workers.append(
            subprocess.Popen(command("serve.laborer", url), stdout=subprocess.PIPE, text=True, env=environment())
        )

    def kill_some() -> int:
        alive = [number for number, worker in enumerate(workers) if worker.poll() is None]
        victims = rng.sample(alive, min(2, len(alive)))
        for victim in victims:
            workers[victim].kill()
        for victim in victims:
            begin(victim)  # one of the same kind
        return len(victims)

    with dibs.open(direct) as queue:
        ids = {task.id for task in queue.push_many({"n": n} for n in range(TASKS))}
        for number in range(WORKERS):
            begin(number)
        try:
            for number in range(ROUNDS * 3):
                while queue.stats().states.get("completed", 0) < TASKS * number // (ROUNDS * 3 + 1):
                    pause.wait(0.02)
                if number % 3 != 1:
                    serving.kill()
                if number % 3 != 0:
                    killed += kill_some()
                if number % 3 != 1:
                    serving.start()
            said = [
                line.split() for worker in workers for line in worker.communicate(timeout=LONG_PATIENCE)[0].splitlines()
            ]
        finally:
            serving.kill()
            for worker in workers:
                worker.kill()
        assert {state: count for state, count in queue.stats().states.items() if count} == {"completed": TASKS}
        once = Counter(words[0] for words in said)
        assert [task_id for task_id, times in once.items() if times > 1] == []
        assert set(once) <= ids
        assert len(once) >= TASKS - killed  # each of the killed may have completed one without saying so
        epochs = {words[0]: int(words[1]) for words in said}
        for task in queue.tasks("completed"):
            assert task.epoch == epochs.get(task.id, task.epoch)  # by whoever said so
