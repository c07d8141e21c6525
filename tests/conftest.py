"""For all tests: failures inside the shipped contract suite show their values; what this machine lacks is said."""

import gc
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from browser import chromium
from disk import strace
from hosts import machine
from servers.fixtures import moto, postgres, rclone, redis_server, seaweed, valkey

__all__ = ["moto", "postgres", "rclone", "redis_server", "seaweed", "valkey"]

pytest.register_assert_rewrite("dibs.testing")
gc.disable()  # until all tests are collected: they live as long as the process
MEMORY = "/dev/shm"
INHERITED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)


def hear(*_: object) -> None:
    """Nothing is done: as if it were ignored."""


if threading.current_thread() is threading.main_thread():
    for number in INHERITED:
        if signal.getsignal(number) is signal.SIG_IGN:  # nohup, or in the background of a script: what is started here
            signal.signal(number, hear)  # would ignore it too; but a function is not inherited

OPTIONAL = {
    "_strace.py": strace.works,
    "_faketime.py": lambda: shutil.which("faketime") is not None,
    "_unshare.py": machine.works,
    "_cc.py": lambda: shutil.which("cc") is not None,
    "_browser.py": chromium.wanted,
}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Half as many again as there are processors: many tests wait for servers, or for time to pass."""
    return (os.cpu_count() or 1) * 3 // 2 + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest first, so that at the end no processor waits for another's last test."""
    items.sort(key=lambda item: "simulation" not in item.path.parts)


def pytest_collection_finish() -> None:
    gc.enable()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for ending, usable in OPTIONAL.items():
        state = "are part of the run" if usable() else "are LEFT OUT: this machine lacks the tool"
        terminalreporter.write_line(f"tests in *{ending} {state}")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Not a skip: without the tool these tests do not exist, and the last lines of the run say so."""
    missing = any(collection_path.name.endswith(ending) and not usable() for ending, usable in OPTIONAL.items())
    return True if missing else None


@pytest.fixture
def quick_folder(tmp_path: Path) -> Iterator[Path]:
    """In memory where the system has that: killing and refusing need no real disk, and syncing is free there."""
    if not os.access(MEMORY, os.W_OK):
        yield tmp_path
        return
    folder = tempfile.mkdtemp(prefix="dibs-test-", dir=MEMORY)
    yield Path(folder)
    shutil.rmtree(folder)
