"""Queues in the test's own folder, and functions to call."""

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import dibs
from dibs.queues.queue import Queue
from dibs.worker.job import Job
from dibs.worker.supervisor import Supervisor
from waiting import until

NOTED = """
import os, threading
def until_told(lease, path):
    # until the runner has heard that it is to stop
    told = threading.Event()
    lease.queue.rouse = told.set
    with open(path, "a") as file: file.write(f"{os.getpid()}\\n")
    told.wait()
"""


def alive(pid: int) -> bool:
    from dibs.host import process_state

    return process_state(pid)[0] not in "-ZX"


def command_lines() -> list[str]:
    """Of all processes."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.append(path.read_text(errors="replace"))
    return found


def kept_beyond_ttl(queue: Queue, other: Queue) -> None:
    """Until somebody has beaten for what is claimed for longer than its TTL; meanwhile nobody else gets it."""
    first = {claim.id: claim for claim in queue.claimed()}
    assert first

    def beaten() -> bool:
        assert other.claim() is None, "taken from a worker that works"
        now = queue.claimed()
        assert {claim.id for claim in now} == set(first)
        return all(claim.heartbeat_at > first[claim.id].heartbeat_at + 1.2 * claim.ttl for claim in now)

    until(beaten, "beats after the TTL")


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"file:{tmp_path}/q?sync=off"


@pytest.fixture
def queue(url: str) -> Iterator[Queue]:
    with dibs.open(url) as opened:
        yield opened


@pytest.fixture
def other(url: str, queue: Queue) -> Iterator[Queue]:
    """The same queue, opened by somebody else."""
    with dibs.open(url) as opened:
        yield opened


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Write a module that workers can import; returns its name."""
    folder = tmp_path / "code"
    folder.mkdir()
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")])))

    def write(source: str, name: str = "jobs") -> str:
        (folder / f"{name}.py").write_text(textwrap.dedent(source))
        return name

    return write


@pytest.fixture
def supervise(url: str, queue: Queue) -> Iterator[Callable[..., Supervisor]]:
    """Start a supervisor with its runners; what still runs at the end is killed."""
    started: list[Supervisor] = []

    def start(*, workers: int = 1, threads: bool = False, **settings: Any) -> Supervisor:
        job = Job(**{"url": url, "ttl": 30.0, **settings})
        supervisor = Supervisor(job, dibs.open(url), workers=workers, threads=threads)
        supervisor.start()
        started.append(supervisor)
        return supervisor

    yield start
    for supervisor in started:
        supervisor.kill()
        supervisor.join()


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Callable[..., "subprocess.Popen[bytes]"]]:
    """Start a process; what still runs at the end is killed."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*words: str, **options: Any) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen([sys.executable, *words], cwd=tmp_path, **options)
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            os.kill(process.pid, signal.SIGCONT)
            process.kill()
        process.wait()


def news(supervisor: Supervisor) -> list[dict[str, Any]]:
    found = []
    while not supervisor.news.empty():
        found.append(supervisor.news.get())
    return found
