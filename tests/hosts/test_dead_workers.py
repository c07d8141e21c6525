"""Workers that die, stop, or lose their machine; real processes and signals."""

import json
import os
import signal
from pathlib import Path

import pytest

import dibs
from dibs.host import this_host
from hosts.members import Remote, remotes

LONG = 600


@pytest.fixture(params=["file", "dir"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "file":
        return f"file:{tmp_path}/q?sync=off"
    (tmp_path / "in").mkdir()
    return f"dir:{tmp_path}/in?settle=0"


@pytest.mark.parametrize("reaped", [True, False], ids=["gone", "zombie"])
def test_a_killed_worker_is_noticed_at_once(url: str, reaped: bool) -> None:
    task = dibs.open(url).push({"n": 1})
    worker = Remote(url)
    with remotes(worker):
        assert worker.ask(f"claim {LONG}") == f"{task.id} 1 0"
        assert dibs.open(url).claim() is None
        worker.process.kill()
        if reaped:
            worker.process.wait()
        else:
            os.waitid(os.P_PID, worker.process.pid, os.WEXITED | os.WNOWAIT)
        lease = dibs.open(url).claim()
        assert lease is not None
        assert (lease.id, lease.epoch, lease.task.deaths, lease.task.attempts) == (task.id, 2, 1, 0)


def test_another_process_that_was_looking_already_takes_over(url: str) -> None:
    task = dibs.open(url).push({"n": 1})
    worker, other = Remote(url), Remote(url)
    with remotes(worker, other):
        assert worker.ask(f"claim {LONG}") == f"{task.id} 1 0"
        assert other.ask("watch 0.2 60") == "none"
        other.send("watch 60 60")
        worker.process.kill()
        worker.process.wait()
        assert other.answer() == f"{task.id} 2 1"
        assert other.ask("complete") == "done"


def test_a_stopped_worker_keeps_its_lease_for_the_ttl_and_then_has_lost_it(url: str) -> None:
    task = dibs.open(url).push({"n": 1})
    worker, other = Remote(url), Remote(url)
    with remotes(worker, other):
        assert worker.ask("claim 3") == f"{task.id} 1 0"
        worker.process.send_signal(signal.SIGSTOP)
        assert other.ask("watch 0.3 60") == "none"
        assert other.ask("watch 60 60") == f"{task.id} 2 1"
        worker.process.send_signal(signal.SIGCONT)
        assert worker.ask("held") == "False"
        assert worker.ask("complete").startswith("lost")
        assert other.ask("complete") == "done"
    assert dibs.open(url).get(task.id).epoch == 2


def test_a_lease_of_no_process_outlives_the_process(url: str) -> None:
    """What a one-shot command claimed belongs to whoever holds the epoch."""
    task = dibs.open(url).push({"n": 1})
    command = Remote(url, pid=None)
    with remotes(command):
        assert command.ask(f"claim {LONG}") == f"{task.id} 1 0"
    assert dibs.open(url).claim() is None
    dibs.open(url).lease(task.id, 1).complete("by another command")
    assert dibs.open(url).detail(task.id).result == "by another command"


def test_a_task_that_kills_its_workers_ends_in_failed(url: str) -> None:
    queue = dibs.open(url)
    task = queue.push({"n": 1})
    for deaths in range(task.max_deaths):
        victim = Remote(url)
        with remotes(victim):
            assert victim.ask(f"watch 30 {LONG}") == f"{task.id} {deaths + 1} {deaths}"
    assert dibs.open(url).claim() is None
    detail = dibs.open(url).detail(task.id)
    assert (detail.task.state, detail.task.deaths, detail.task.attempts) == ("failed", task.max_deaths, 0)
    assert len(detail.history) == task.max_deaths
    assert "died" in detail.error


def test_a_power_cut_counts_no_death(url: str) -> None:
    """The machine has booted since: whatever ran on it then died of that, not of its task."""
    task = dibs.open(url).push({"n": 1})
    ours = this_host()
    worker = Remote(url, boot="before the power cut", machine=ours.machine)
    with remotes(worker):
        assert worker.ask("claim 0.5") == f"{task.id} 1 0"
    lease = dibs.open(url).claim(wait=30)
    assert lease is not None
    assert (lease.id, lease.epoch, lease.task.deaths) == (task.id, 2, 0)


def test_a_reused_pid_is_not_the_worker(tmp_path: Path) -> None:
    url = f"file:{tmp_path}/q?sync=off"
    task = dibs.open(url).push({"n": 1})
    worker = Remote(url)
    with remotes(worker):
        assert worker.ask(f"claim {LONG}") == f"{task.id} 1 0"
    (path,) = Path(tmp_path, "q/workers").glob("*.json")
    record = json.loads(path.read_text())
    alive = {**record, "pid": os.getpid(), "start": this_host().started(os.getpid())}
    path.write_text(json.dumps(alive))
    assert dibs.open(url).claim() is None
    path.write_text(json.dumps({**alive, "start": record["start"] + "0"}))
    lease = dibs.open(url).claim()
    assert lease is not None
    assert (lease.epoch, lease.task.deaths) == (2, 1)
