"""A queue of files, and shell workers on it that are ended when the test is."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import dibs
from waiting import PATIENCE

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(") ")[2][0] not in "ZX"
    except FileNotFoundError:
        return False


@pytest.fixture
def url(tmp_path: Path) -> str:
    return str(tmp_path / "queue")


@pytest.fixture
def queue(url: str) -> Iterator[dibs.Queue]:
    with dibs.open(url) as opened:
        yield opened


Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start a program; what is left of it at the end is killed."""
    running: list[subprocess.Popen[str]] = []

    def begin(*command: object, **options: object) -> "subprocess.Popen[str]":
        process: subprocess.Popen[str] = subprocess.Popen(
            [str(part) for part in command], text=True, stderr=subprocess.PIPE, **options
        )  # type: ignore[call-overload]
        running.append(process)
        return process

    yield begin
    for process in running:
        if process.poll() is None:
            os.kill(process.pid, signal.SIGCONT)
            process.kill()
        process.communicate(timeout=PATIENCE)


@pytest.fixture
def shell_worker(start: Start, url: str) -> Start:
    """worker.sh with options, then `--`, then its command."""

    def begin(*arguments: object, **options: object) -> "subprocess.Popen[str]":
        at = arguments.index("--")
        return start("sh", EXAMPLES / "worker.sh", *arguments[:at], url, *arguments[at + 1 :], **options)

    return begin
