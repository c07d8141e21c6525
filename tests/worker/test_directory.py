"""Workers on a `dir:` queue, where every lease has a handle of its own."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import dibs
from dibs.queues.queue import Queue
from dibs.states import State
from dibs.worker.runner import SHOWN_TTL
from dibs.worker.supervisor import Supervisor
from waiting import PATIENCE, until

from .conftest import alive, kept_beyond_ttl, lines

Supervise = Callable[..., Supervisor]


@pytest.fixture
def url(tmp_path: Path) -> str:
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(6):
        (folder / f"{number}.txt").write_text(f"{number}\n")
        os.utime(folder / f"{number}.txt", (1_700_000_000, 1_700_000_000))  # long settled
    return f"dir:{folder}?done={tmp_path}/done"


@pytest.fixture
def queue(url: str) -> Iterator[Queue]:
    with dibs.open(url) as opened:
        yield opened


def test_drains_with_the_path_as_argument(queue: Queue, supervise: Supervise, tmp_path: Path) -> None:
    supervisor = supervise(workers=2, command=("cat", "{}"), until_empty=True)
    supervisor.join()
    assert supervisor.totals().completed == 6
    assert {queue.detail(f"{number}.txt").result for number in range(6)} == set(range(6))
    assert sorted(os.listdir(tmp_path / "in")) == [f"{number}.txt" for number in range(6)]


@pytest.mark.parametrize("ttl", [SHOWN_TTL * 0.9, SHOWN_TTL * 1.5])
def test_leases_are_kept_past_their_ttl(queue: Queue, supervise: Supervise, ttl: float, tmp_path: Path) -> None:
    wait = f"until [ -e {tmp_path}/go ]; do sleep 0.1; done"
    supervisor = supervise(workers=6, threads=True, command=("sh", "-c", wait), until_empty=True, ttl=ttl)
    until(lambda: len(supervisor.hands[0].in_hand()), "all to start", equals=6)
    kept_beyond_ttl(queue, queue)
    (tmp_path / "go").touch()
    assert supervisor.ended.wait(PATIENCE)
    assert supervisor.totals().completed == 6


def test_commands_of_a_killed_runner_are_dead_before_their_tasks_go_on(
    queue: Queue, supervise: Supervise, tmp_path: Path
) -> None:
    command = ("sh", "-c", f"echo $$ >> {tmp_path}/pids; exec sleep 60")
    supervisor = supervise(workers=2, threads=True, command=command, ttl=600.0)
    pids = until(lambda: len(lines(tmp_path / "pids")) == 2 and lines(tmp_path / "pids"), "two to start")
    held = {doing.id for _, doing in supervisor.hands[0].in_hand()}
    supervisor.stop()
    os.kill(supervisor.hands[0].pid, signal.SIGKILL)
    for lease in (until(lambda: queue.claim(), "a task") for _ in range(6)):
        assert lease.id not in held or not any(alive(int(pid)) for pid in pids)
        assert lease.epoch == (2 if lease.id in held else 1)
        assert lease.task.deaths == (1 if lease.id in held else 0)


def test_the_command_of_a_stopped_runner_is_dead_before_its_task_goes_on(
    queue: Queue, supervise: Supervise, tmp_path: Path
) -> None:
    """Though it was stopped before the supervisor had any reason to look after the lease."""
    supervisor = supervise(command=("sh", "-c", f"echo $$ >> {tmp_path}/pids; exec sleep 60"), ttl=12.0)
    (pid,) = until(lambda: lines(tmp_path / "pids"), "the command to start")
    (hand,) = supervisor.hands
    until(lambda: hand.ward and list(hand.ward.groups()), "the runner to name it")
    ((_, doing),) = hand.in_hand()
    os.kill(hand.pid, signal.SIGSTOP)
    others = [until(queue.claim, "a task") for _ in range(6)]
    assert not alive(int(pid))
    assert {(lease.id, lease.epoch) for lease in others if lease.epoch > 1} == {(doing.id, 2)}


def test_kill_releases_what_is_in_hand(queue: Queue, supervise: Supervise, tmp_path: Path) -> None:
    supervisor = supervise(command=("sh", "-c", f"echo $$ >> {tmp_path}/pids; exec sleep 60"), ttl=60.0)
    until(lambda: lines(tmp_path / "pids"), "the command to start")
    supervisor.kill()
    supervisor.join()
    assert not alive(int(lines(tmp_path / "pids")[0]))
    assert queue.stats().states[State.READY] == 6
    assert all(task.attempts == task.deaths == 0 for task in queue.tasks())
