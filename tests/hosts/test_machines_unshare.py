"""Hosts in namespaces of their own on one machine, as containers are: who is who, and who can see whom die."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import dibs
from children import command, environment
from dibs.host import this_host
from hosts.machine import Machine
from hosts.members import Remote, remotes

LONG = 600
FOREIGN_PROC = ["unshare", "--fork", "--kill-child", "--pid"]  # /proc goes on showing the processes of the outside
IDENTITY = """
import json, os, time
from dibs.host import this_host
host = this_host()
print(json.dumps({"name": host.name, "machine": host.machine, "boot": host.boot, "space": host.space,
                  "wall": time.time(), "boottime": time.clock_gettime(time.CLOCK_BOOTTIME)}))
"""


@pytest.fixture
def far(tmp_path: Path) -> Iterator[Machine]:
    with Machine("far", tmp_path, wrong=3600, up=500_000) as machine:
        yield machine


def test_a_machine_is_another_host_with_other_clocks(far: Machine) -> None:
    asked = subprocess.run(
        far.run(sys.executable, "-c", IDENTITY), env=environment(), capture_output=True, text=True, check=True
    )
    there, here = json.loads(asked.stdout), this_host()
    assert there["name"] == "far"
    assert not {there["machine"], there["boot"], there["space"]} & {here.machine, here.boot, here.space}
    assert there["wall"] - time.time() == pytest.approx(3600, abs=60)
    if os.path.exists("/proc/self/ns/time"):
        assert there["boottime"] - time.clock_gettime(time.CLOCK_BOOTTIME) == pytest.approx(500_000, abs=60)


def test_a_worker_killed_on_another_machine_is_waited_for(far: Machine, tmp_path: Path) -> None:
    """That it is gone cannot be seen from here: its lease must run out."""
    url = f"file:{tmp_path}/q?sync=off"
    task = dibs.open(url).push({"n": 1})
    worker = Remote(url, under=far.run())
    with remotes(worker):
        assert worker.ask("claim 3") == f"{task.id} 1 0"
        far.kill_all()
        queue = dibs.open(url)
        assert queue.claim() is None
        lease = queue.claim(wait=60)
        assert lease is not None
        assert (lease.id, lease.epoch, lease.task.deaths) == (task.id, 2, 1)


def test_a_machine_that_boots_again_takes_its_tasks_up_without_counting_deaths(far: Machine, tmp_path: Path) -> None:
    url = f"file:{tmp_path}/q?sync=off"
    task = dibs.open(url).push({"n": 1})
    with remotes(worker := Remote(url, under=far.run())):
        assert worker.ask("claim 2") == f"{task.id} 1 0"
        far.cut_power()
    far.boot()
    with remotes(worker := Remote(url, under=far.run())):
        assert worker.ask("watch 60 60") == f"{task.id} 2 0"


def test_where_proc_shows_others_nobody_is_taken_for_dead(tmp_path: Path) -> None:
    """In a namespace of processes with the /proc of the outside a worker's number is another's there, which is dead."""
    url = f"file:{tmp_path}/q?sync=off"
    task = dibs.open(url).push({"n": 1})
    other = subprocess.Popen(["sleep", "600"])
    member = " ".join(command("hosts.member", url, "'{}'"))
    script = tmp_path / "both.sh"
    script.write_text(
        f"cd {tmp_path}\necho {other.pid - 1} >/proc/sys/kernel/ns_last_pid\n"
        f"{member} <one >one.out &\n{member} <two >two.out &\nwait\n"
    )
    for name in ("one", "two", "one.out", "two.out"):
        os.mkfifo(tmp_path / name)
    with subprocess.Popen([*FOREIGN_PROC, "sh", str(script)], env=environment()) as both:
        try:
            one, two = (Spoken(tmp_path / name) for name in ("one", "two"))
            assert one.ask(f"claim {LONG}") == f"{task.id} 1 0"
            (session,) = (tmp_path / "q/workers").glob("*.json")
            assert json.loads(session.read_text())["pid"] == other.pid
            other.kill()
            os.waitid(os.P_PID, other.pid, os.WEXITED | os.WNOWAIT)
            assert two.ask(f"watch 2 {LONG}") == "none"
            assert one.ask("complete") == "done"
        finally:
            both.kill()
            other.kill()
            other.wait()


def die_once(payload: object, lease: dibs.Lease) -> int:
    """What `dibs work` calls."""
    if lease.epoch == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return lease.epoch


def test_a_runner_that_died_is_noticed_without_a_proc_of_its_own(tmp_path: Path) -> None:
    queue = dibs.open(f"file:{tmp_path}/q?sync=off")
    task = queue.push({"n": 1})
    words = ["work", queue.url, "--max-tasks", "2", "--until-empty", "--call", f"{__name__}:die_once"]
    subprocess.run([*FOREIGN_PROC, *command("dibs", *words)], env=environment(), check=True, timeout=60)
    assert queue.detail(task.id).result == 2


class Spoken:
    """A member that is spoken to through pipes with names."""

    def __init__(self, path: Path) -> None:
        self._to, self._from = path.open("w"), path.with_suffix(".out").open()

    def ask(self, words: str) -> str:
        self._to.write(f"{words}\n")
        self._to.flush()
        return self._from.readline().strip()
