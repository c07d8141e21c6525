"""The commands on a Redis queue, and a worker."""

import json
import os
import signal
import subprocess
import sys

import dibs
from dibs.queues.queue import Queue
from waiting import PATIENCE, until


def run(*words: str, code: int = 0) -> str:
    done = subprocess.run([sys.executable, "-m", "dibs", *words], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout


def test_a_task_goes_through_the_commands(url: str) -> None:
    assert (
        "no queue"
        in subprocess.run(
            [sys.executable, "-m", "dibs", "claim", url], capture_output=True, text=True, check=False
        ).stderr
    )
    task_id = run("push", url, '{"n": 1}', "--key", "k").strip()
    claimed = json.loads(run("claim", url, "--ttl", "60"))
    assert (claimed["id"], claimed["epoch"]) == (task_id, 1)
    assert run("claim", url, code=3) == ""
    run("renew", url, task_id, "--epoch", "1")
    assert task_id in run("claimed", url)
    run("complete", url, task_id, "--epoch", "1")
    run("complete", url, task_id, "--epoch", "1", code=4)
    assert json.loads(run("stats", url, "--json"))["states"]["completed"] == 1
    assert "completed at epoch 1" in run("why", url, "k")


def test_a_worker_empties_the_queue(url: str, queue: Queue) -> None:
    queue.push_many(range(40))
    run("work", url, "-j", "2", "--until-empty", "--call", "json:dumps")
    assert queue.stats().states["completed"] == 40
    assert queue.stats().states["failed"] == 0


def test_an_idle_worker_stops_when_told(url: str, queue: Queue) -> None:
    """Though it waits for word, and would look again by itself only after ten minutes."""
    words = [sys.executable, "-m", "dibs", "work", f"{url}&idle=600", "-j", "1", "--call", "json:dumps"]
    worker = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        queue.push("first")
        until(lambda: queue.stats().states["completed"], "the first task to be done")
        os.kill(worker.pid, signal.SIGTERM)
        worker.communicate(timeout=PATIENCE)
    finally:
        worker.kill()
        worker.communicate()
    assert dibs.open(url).claim() is None
