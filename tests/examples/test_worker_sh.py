"""The shell worker and Python workers on one queue: the protocol is what is written, not what Python does."""

import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests.examples.conftest import EXAMPLES, Start, alive

import dibs
from waiting import PATIENCE, until
from worker.conftest import kept_beyond_ttl

COREUTILS = (
    "cat", "cut", "date", "head", "ls", "mkdir", "mktemp", "mv", "od", "printf", "readlink", "rm", "shuf", "sleep",
    "sort", "timeout", "touch", "tr", "true",
)  # fmt: skip
PYTHON_WORKER = """
import os, sys, time, dibs
queue = dibs.open(sys.argv[1])
open(f"{sys.argv[3]}.{os.getpid()}", "w").close()
while not os.path.exists(sys.argv[3]): time.sleep(0.01)
for lease in queue.claims(wait=0.5):
    time.sleep(0.01)
    with open(sys.argv[2], "a") as log:
        log.write(f"{lease.id} {lease.epoch}\\n")
    lease.complete()
"""
HOLD_FOR_EVER = """
import sys, time, dibs
dibs.open(sys.argv[1]).claim(ttl=600)
time.sleep(600)
"""


def test_shell_and_python_workers_drain_one_queue_together(
    url: str, shell_worker: Start, start: Start, tmp_path: Path
) -> None:
    queue = dibs.open(f"{url}?shards=1")  # so that all of them want the same tasks
    pushed = {task.id for task in queue.push_many([{"n": n} for n in range(300)])}
    log = tmp_path / "ran"
    go = tmp_path / "go"
    pythons = [start(sys.executable, "-c", PYTHON_WORKER, url, log, go) for _ in range(2)]
    until(lambda: len(list(tmp_path.glob("go.*"))), "both to be ready", equals=2)
    shells = [shell_worker("-e", "--", "sh", "-c", f'echo "$DIBS_ID $DIBS_EPOCH" >>{log}') for _ in range(4)]
    until(lambda: queue.stats().states["completed"] >= 20)
    go.touch()
    said = [process.communicate()[1] for process in (*shells, *pythons)]

    assert [process.returncode for process in (*shells, *pythons)] == [0] * 6, said
    completed = Counter(path.name.split(".")[0] for path in Path(url, "completed").glob("*/*"))
    assert completed == Counter(dict.fromkeys(pushed, 1))
    assert sorted(log.read_text().split("\n")[:-1]) == sorted(f"{task_id} 1" for task_id in pushed)
    by_shell = sum(text.count(" completed\n") for text in said[:4])
    assert 20 <= by_shell < 300, "both kinds must have had a share, or this shows nothing"


def test_a_killed_shell_worker_is_taken_over_at_once_and_its_command_is_dead_by_then(
    queue: dibs.Queue, shell_worker: Start, tmp_path: Path
) -> None:
    task = queue.push("long")
    told = tmp_path / "pid"
    worker = shell_worker("-t", 600, "--", "sh", "-c", f"echo $$ >{told}.new; mv {told}.new {told}; sleep 600")
    until(told.exists)
    command = int(told.read_text())
    assert queue.claim() is None

    worker.kill()
    lease = queue.claim(wait=30)

    assert lease is not None
    assert (lease.id, lease.epoch) == (task.id, 2)
    assert not alive(command)
    assert [event.what for event in queue.detail(task.id).history] == ["died"]
    assert queue.get(task.id).deaths == 1


def test_a_killed_python_worker_is_taken_over_by_a_shell_worker(
    queue: dibs.Queue, url: str, shell_worker: Start, start: Start
) -> None:
    task = queue.push("long")
    holder = start(sys.executable, "-c", HOLD_FOR_EVER, url)
    until(lambda: queue.get(task.id).state, equals="claimed")
    holder.kill()

    worker = shell_worker("-n", 1, "--", "true")

    assert worker.wait(PATIENCE) == 0
    done = queue.detail(task.id)
    assert (done.task.state, done.task.epoch, done.task.deaths) == ("completed", 2, 1)
    assert [event.what for event in done.history] == ["died"]


def test_a_stopped_shell_worker_loses_its_task_and_its_late_finish_is_refused(
    queue: dibs.Queue, shell_worker: Start, tmp_path: Path
) -> None:
    task = queue.push("long")
    told = tmp_path / "pid"
    worker = shell_worker("-t", 2, "--", "sh", "-c", f"echo $$ >{told}.new; mv {told}.new {told}; sleep 600")
    until(told.exists)
    os.kill(worker.pid, signal.SIGSTOP)

    lease = queue.claim(wait=30)
    assert lease is not None and lease.epoch == 2
    until(lambda: not alive(int(told.read_text())))
    lease.complete("by the second")
    os.kill(worker.pid, signal.SIGCONT)
    worker.terminate()

    said = worker.communicate()[1]
    assert f"task {task.id} epoch 1 lost" in said
    done = queue.detail(task.id)
    assert (done.task.state, done.task.epoch, done.result) == ("completed", 2, "by the second")


def test_heartbeats_keep_a_task_longer_than_its_ttl(queue: dibs.Queue, shell_worker: Start, tmp_path: Path) -> None:
    task = queue.push("long")
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    worker = shell_worker("-t", 4, "-n", 1, "--", "sh", "-c", f"read line <{gate}")
    until(lambda: queue.get(task.id).state, equals="claimed")
    kept_beyond_ttl(queue, queue)
    gate.write_text("go\n")
    assert worker.wait(PATIENCE) == 0
    assert (queue.get(task.id).state, queue.get(task.id).epoch) == ("completed", 1)


def test_a_failing_command_is_retried_after_a_while_and_then_dead_lettered(
    queue: dibs.Queue, shell_worker: Start
) -> None:
    task = queue.push("bad", max_attempts=2)
    shell_worker("--", "sh", "-c", "exit 7")
    until(lambda: queue.get(task.id).state, equals="failed")
    detail = queue.detail(task.id)
    first, second = detail.history
    assert second.at - first.at >= queue.get(task.id).backoff * 0.5
    assert (detail.task.epoch, detail.task.attempts, detail.error) == (2, 2, "exit status 7")
    assert [event.what for event in detail.history] == ["failed", "failed"]


def test_a_command_past_max_runtime_is_ended(queue: dibs.Queue, shell_worker: Start) -> None:
    task = queue.push("slow", max_runtime=0.5, max_attempts=1)
    worker = shell_worker("-n", 1, "--", "sleep", "600")
    assert worker.wait(PATIENCE) == 0
    assert queue.get(task.id).state == "failed"


def test_higher_priority_comes_first(queue: dibs.Queue, shell_worker: Start, tmp_path: Path) -> None:
    tasks = [queue.push(name, priority=name, project=name) for name in ("low", "critical", "normal")]
    worker = shell_worker("-e", "--", "sh", "-c", f'echo "$DIBS_ID" >>{tmp_path}/order')
    assert worker.wait(PATIENCE) == 0
    assert Path(tmp_path, "order").read_text().split() == [tasks[n].id for n in (1, 2, 0)]


def test_a_paused_queue_is_left_alone(queue: dibs.Queue, shell_worker: Start) -> None:
    task = queue.push("waits")
    queue.pause("lunch")
    assert shell_worker("-e", "--", "true").wait(60) == 0
    assert queue.get(task.id).state == "ready"


@pytest.mark.parametrize(("signals", "state", "epoch"), [(1, "completed", 1), (2, "ready", 1)])
def test_a_signal_finishes_what_is_in_hand_and_a_second_gives_it_back(
    queue: dibs.Queue, shell_worker: Start, tmp_path: Path, signals: int, state: str, epoch: int
) -> None:
    tasks = queue.push_many(["first", "second"])
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    worker = shell_worker("--", "sh", "-c", f"read line <{gate}")
    until(lambda: queue.stats().states["claimed"], equals=1)
    (held,) = queue.tasks("claimed")
    worker.terminate()
    assert worker.stderr is not None
    assert "leaving after the task in hand" in worker.stderr.readline()
    if signals == 1:
        gate.write_text("go\n")
    else:
        worker.terminate()

    assert worker.wait(PATIENCE) == 0
    assert (queue.get(held.id).state, queue.get(held.id).epoch) == (state, epoch)
    assert sum(queue.get(task.id).epoch for task in tasks) == 1, "nothing was claimed after the signal"
    assert not list(Path(queue.url, "workers").iterdir())


def test_it_needs_nothing_but_a_shell_coreutils_and_sed(queue: dibs.Queue, shell_worker: Start, tmp_path: Path) -> None:
    queue.push_many(["a", "b", "c"])
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in (*COREUTILS, "sed", "sh"):
        path = shutil.which(name)
        assert path is not None
        (tools / name).symlink_to(path)
    worker = shell_worker("-e", "--", "true", env={"PATH": str(tools)})
    said = worker.communicate()[1]
    assert worker.returncode == 0
    assert "not found" not in said
    assert queue.stats().states["completed"] == 3


def test_a_folder_that_is_no_queue_is_refused(tmp_path: Path) -> None:
    run = subprocess.run(["sh", EXAMPLES / "worker.sh", tmp_path, "true"], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (1, f"worker.sh: {tmp_path} is no dibs queue of format 1\n")
