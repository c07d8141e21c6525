"""The `dibs` program on SQS, and its workers, as real processes."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dibs.queues.sqs import SqsQueue
from sqs.conftest import Open
from waiting import PATIENCE, until

PROGRAM = str(Path(sys.executable).with_name("dibs"))


class Done:
    def __init__(self, *words: str) -> None:
        done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=PATIENCE, env=environment())
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        assert "Traceback" not in self.err, self.err

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("DIBS_")}


def test_push_claim_complete_from_a_shell(url: str) -> None:
    missing = Done("claim", url)
    assert missing.code == 1
    assert "no SQS queue" in missing.err
    task = Done("push", url, '{"n": 1}').out.strip()
    lease = Done("claim", url, "--ttl", "30").json
    assert (lease["id"], lease["epoch"], lease["payload"]) == (task, 1, {"n": 1})
    assert Done("claim", url).code == 3
    assert Done("complete", url, task, "--epoch", "2").code == 4
    assert Done("complete", url, task, "--epoch", "1").code == 0
    assert Done("stats", url, "--json").json["total"] == 0


def test_what_sqs_cannot_do_is_a_line(url: str) -> None:
    Done("push", url, "1")
    for words in (["list", url], ["push", url, "2", "--key", "k"]):
        done = Done(*words)
        assert done.code == 1
        assert done.err.startswith("dibs: sqs cannot "), done.err
        assert done.err.count("\n") == 1


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def test_two_workers_do_each_task_once(queue: SqsQueue, url: str, log: Path) -> None:
    pushed = [task.id for task in queue.push_many(range(30))]
    words = ["work", url, "-j", "2", "--until-empty", "--", "sh", "-c", f"echo {{id}} >> {log}"]
    done = Done(*words)
    assert done.code == 0, done.err
    assert Counter(log.read_text().split()) == Counter(pushed)
    assert queue.stats().total == 0


def test_a_worker_keeps_a_task_that_outlives_its_ttl_and_fails_what_fails(queue: SqsQueue, url: str, log: Path) -> None:
    queue.push("slow")
    queue.push("bad", max_attempts=1)
    script = f'read p; echo "$p" >> {log}; case "$p" in *slow*) sleep 7;; *) exit 1;; esac'
    done = Done("work", url, "--ttl", "5", "-j", "2", "--until-empty", "--", "sh", "-c", script)
    assert done.code == 0, done.err
    assert sorted(log.read_text().split()) == ['"bad"', '"slow"']
    states = queue.stats().states
    assert (states["ready"], states["claimed"], states["failed"]) == (0, 0, 1)


@pytest.mark.parametrize("victim", ["runner", "all"])
def test_a_killed_workers_task_goes_to_another(
    queue: SqsQueue, open_sqs: Open, url: str, log: Path, victim: str
) -> None:
    task = queue.push("slow")
    script = f"echo $PPID >> {log}; sleep 100"
    worker = subprocess.Popen(
        [PROGRAM, "work", url, "--ttl", "2", "--max-tasks", "1", "--", "sh", "-c", script],
        env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        until(lambda: log.exists() and log.read_text().endswith("\n"), "the command to run")
        runner = int(log.read_text().split()[0])
        if victim == "all":
            os.kill(worker.pid, signal.SIGKILL)
        else:
            os.kill(worker.pid, signal.SIGTERM)  # it takes nothing more, and sees to what its runner leaves
        os.kill(runner, signal.SIGKILL)
        lease = open_sqs().claim(wait=60)
        assert lease is not None
        assert (lease.id, lease.epoch) == (task.id, 2)
        lease.complete()
    finally:
        worker.kill()
        worker.wait()
    assert queue.stats().total == 0
