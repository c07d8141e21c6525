"""The server killed and started again under load: nothing acknowledged is lost, nothing completed twice."""

import json
import os
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import dibs
from children import command, environment
from redisqueue.own_server import OwnServer
from servers.redis_server import DURABLE
from waiting import PATIENCE, until

TASKS = 4000 if os.environ.get("DIBS_LONG") else 400
KILLS = 12 if os.environ.get("DIBS_LONG") else 3


class Hand:
    """A process, and the file that it talks to: a pipe that nobody reads would fill up."""

    def __init__(self, out: Path, role: str, url: str, count: int = 0) -> None:
        self._out = out
        words = command("redisqueue.hand", role, url, str(count))
        with out.open("w") as file:
            self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=file, env=environment())

    def wait_until_ready(self) -> None:
        """Whoever opens a queue on a server that is not there gives up at once."""
        until(lambda: "ready" in self._out.read_text(), "it to start")

    def told(self) -> list[list[str]]:
        """Everything that it said, once it has ended."""
        self._process.communicate(timeout=PATIENCE)
        assert self._process.returncode == 0
        return [json.loads(line) for line in self._out.read_text().splitlines()]


def test_workers_go_on_after_every_kill(own_server: Callable[..., OwnServer], tmp_path: Path) -> None:
    server = own_server(*DURABLE)
    url = server.url()
    queue = dibs.open(url)
    pushers = [Hand(tmp_path / f"push{n}", "push", url, TASKS // 2) for n in range(2)]
    workers = [Hand(tmp_path / f"work{n}", "work", url) for n in range(3)]
    for hand in (*pushers, *workers):
        hand.wait_until_ready()
    for kill in range(1, KILLS + 1):
        wanted = TASKS * kill // (KILLS + 2)
        until(lambda wanted=wanted: queue.stats().states["completed"] >= wanted, "progress")  # type: ignore[misc]
        server.kill()
        server.start()
    pushed = [value for pusher in pushers for what, value in pusher.told() if what == "pushed"]
    lines = [line for worker in workers for line in worker.told()]
    states = queue.stats().states
    assert len(pushed) == TASKS
    assert states["completed"] >= TASKS
    assert sum(states.values()) == states["completed"]
    ended = {task.id: queue.detail(task.id) for task in queue.tasks("completed")}
    assert set(pushed) <= set(ended)
    twice = [
        task_id for task_id, detail in ended.items() if [event.what for event in detail.history].count("completed") != 1
    ]
    assert twice == []
    said = Counter(value for what, value in lines if what == "completed")
    assert [task_id for task_id, times in said.items() if times > 1] == []
    assert set(said) == set(ended), "who completed a task was told so"
    queue.close()
