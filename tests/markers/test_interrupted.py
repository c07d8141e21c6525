"""A claimer that is killed, or stopped, between its marker and its rename: the task is taken after the grace, and one
that wakes up later does nothing."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

import dibs
from children import command, environment
from dibs.clock import SYSTEM
from dibs.host import Host, this_host
from dibs.queues.files.markers import STALE_SECONDS
from dibs.queues.queue import Queue
from dibs.testing import ManualClock
from disk.shifted import ShiftedFs
from waiting import PATIENCE

FAR = Host(name="far", machine="far", boot="other", space="pid:[far]")


class Ahead(ManualClock):
    """This host's clocks, and by how much they are moved on."""

    def boottime(self) -> float:
        return SYSTEM.boottime() + self.advanced

    def wall(self) -> float:
        return SYSTEM.wall() + self.advanced


def opened(place: Path, clock: ManualClock, host: Host) -> Queue:
    return dibs.open(f"{place}/q?steps=marker&sync=off", clock=clock, fs=ShiftedFs(clock), host=host)


def started(place: Path, how: str, seconds: float) -> "subprocess.Popen[str]":
    words = command("markers.stopper", f"{place}/q", how, str(seconds))
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment())


def left(place: Path) -> list[str]:
    return sorted(path.name[-2:] for path in (place / "q/markers").rglob("*") if path.is_file())


@pytest.mark.parametrize("host", [this_host(), FAR], ids=["same host", "other host"])
def test_what_a_killed_one_was_about_to_take_is_taken_after_the_grace(tmp_path: Path, host: Host) -> None:
    clock = Ahead()
    with opened(tmp_path, clock, host) as queue:
        task = queue.push({})
        killed = started(tmp_path, "KILL", 20)
        assert killed.wait(PATIENCE) == -signal.SIGKILL
        assert left(tmp_path) == [".1"]
        assert queue.claim() is None
        clock.advance(STALE_SECONDS / 2)
        assert queue.claim() is None
        assert queue.get(task.id).state == "ready"
        clock.advance(STALE_SECONDS / 2 + 2)
        with opened(tmp_path, clock, host) as newcomer:  # has watched nothing: the marker's own time says it
            lease = newcomer.claim()
            assert lease is not None and lease.epoch == 1
            lease.complete()
        assert left(tmp_path) == []


def test_one_that_was_stopped_gives_up_when_it_goes_on(tmp_path: Path) -> None:
    clock = Ahead()
    with opened(tmp_path, clock, this_host()) as queue:
        queue.push({})
        stopped = started(tmp_path, "STOP", 0.3)
        assert os.WIFSTOPPED(os.waitpid(stopped.pid, os.WUNTRACED)[1])
        woken = SYSTEM.boottime() + 0.3
        assert queue.claim() is None
        clock.advance(STALE_SECONDS + 1)
        lease = queue.claim()
        assert lease is not None
        lease.complete()
        while SYSTEM.boottime() < woken:
            SYSTEM.sleep(woken - SYSTEM.boottime())
        stopped.send_signal(signal.SIGCONT)
        said, _ = stopped.communicate(timeout=PATIENCE)
        assert json.loads(said) == {"epoch": None, "moves": 0}
        assert queue.stats().states["completed"] == 1
        assert left(tmp_path) == []
