"""One drain by a queue's own workers: enqueue everything, start them, and read from the notes when tasks ran.

The rate is taken from the first task that ran to the last, the same for all: start-up is left out, and so is
everything after the last task began.
"""

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from benchmarks.brokers import notes
from benchmarks.brokers.broker import REDIS_URL, Broker
from benchmarks.brokers.noop import FOLDER
from benchmarks.brokers.redis_server import redis_server
from benchmarks.children import environment
from benchmarks.measure import scratch, settle

DEADLINE_SECONDS = 180


@dataclass
class Drained:
    ran: notes.Ran
    enqueued: dict[str, float]  # a second: "one" at a time, and in a "batch" if it can


def drain(broker: Broker, folder: str, count: int, processes: int) -> Drained:
    path = scratch(folder)
    if not broker.on_redis:
        return _drain(broker, f"{path}/queue", path, count, processes)
    with redis_server(path) as url:
        return _drain(broker, url, path, count, processes)


def _drain(broker: Broker, place: str, path: str, count: int, processes: int) -> Drained:
    noted = f"{path}/notes"
    notes.prepare(noted, count)
    surroundings = environment(**{FOLDER: noted, REDIS_URL: place})
    enqueued = enqueue(broker, place, count, surroundings)
    settle(count)
    log = f"{path}/worker.log"
    workers = start(broker.commands(place, processes), surroundings, log)
    try:
        ran = notes.wait(noted, count, lambda: trouble(workers, log), DEADLINE_SECONDS)
    finally:
        for worker in workers:
            end(worker)
    return Drained(ran, enqueued)


def enqueue(broker: Broker, place: str, count: int, surroundings: dict[str, str]) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.brokers.enqueue", broker.name, place, str(count)]
    filler = subprocess.run(command, env=surroundings, capture_output=True, text=True, check=False)
    if filler.returncode:
        raise RuntimeError(f"enqueueing failed: {filler.stderr.strip()[-400:]}")
    found: dict[str, float] = json.loads(filler.stdout.splitlines()[-1])
    return found


def start(commands: list[list[str]], surroundings: dict[str, str], log: str) -> list[Any]:
    with open(log, "wb") as output:
        return [
            subprocess.Popen(
                command,
                env=surroundings,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
            for command in commands
        ]


def trouble(workers: list[Any], log: str) -> str | None:
    if any(worker.poll() is None for worker in workers):
        return None
    with open(log, "rb") as file:
        return f"its workers have ended: {file.read()[-400:].decode(errors='replace')}"


def end(worker: Any) -> None:
    """Its own process group: the workers that it forked go with it."""
    if worker.poll() is None:
        worker.send_signal(signal.SIGTERM)
        try:
            worker.wait(10)
        except subprocess.TimeoutExpired:
            pass
    try:
        os.killpg(worker.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    worker.wait()
