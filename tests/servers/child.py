"""A server that is a program: started, asked until it takes a write, and ended with whoever started it."""

import ctypes
import os
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

READY_SECONDS = 60.0
_PR_SET_PDEATHSIG = 1


class NotReady(Exception):
    """The program ended, or did not answer in time."""


def program(name: str) -> str:
    """A program that a wheel put beside this Python."""
    return str(Path(sysconfig.get_path("scripts"), name))


@contextmanager
def running(command: list[str], log: Path, env: dict[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    with log.open("ab") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=env, cwd=log.parent, preexec_fn=leash
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def wait_ready(process: "subprocess.Popen[bytes]", write: Callable[[], object]) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while True:
        try:
            write()
            return
        except Exception as error:  # whatever a server says while it starts
            if process.poll() is not None:
                raise NotReady(f"{process.args!r} ended with {process.returncode}") from error
            if time.monotonic() > deadline:
                raise NotReady(f"{process.args!r} takes no write after {READY_SECONDS:g} s: {error}") from error
        time.sleep(0.05)


def wait_gone(pid: int) -> None:
    """Until a process that is not ours to wait for has ended."""
    deadline = time.monotonic() + READY_SECONDS
    while os.path.exists(f"/proc/{pid}"):
        if time.monotonic() > deadline:
            raise NotReady(f"process {pid} does not end")
        time.sleep(0.01)


def leash(signal_number: int = signal.SIGKILL) -> None:
    """Die with the starter, even when that one is killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal_number)
