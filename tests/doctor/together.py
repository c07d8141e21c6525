"""A doctor that waits for other hosts, and one that joins, as processes of their own."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from children import environment

DOCTOR = (sys.executable, "-m", "dibs", "doctor")
PATIENCE_SECONDS = 120.0


class Begun(NamedTuple):
    run: "subprocess.Popen[str]"
    code: str
    folder: Path  # in which the hosts meet

    def report(self) -> dict[str, Any]:
        out, said = self.run.communicate(timeout=PATIENCE_SECONDS)
        assert out, said
        report: dict[str, Any] = json.loads(out)
        return report


@contextmanager
def begun(url: str, place: Path, words: Sequence[str] = DOCTOR) -> Iterator[Begun]:
    """`place`: the folder that is examined."""
    command = [*words, url, "--quick", "--json", "--hosts", "2"]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr is not None
        try:
            code = run.stderr.readline().split()[-1]
            yield Begun(run, code, place / f".dibs-doctor-{code}" / "hosts")
        finally:
            run.kill()


@contextmanager
def joined(url: str, code: str, words: Sequence[str] = DOCTOR) -> Iterator["subprocess.Popen[str]"]:
    command = [*words, url, "--join", code]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        try:
            yield run
        finally:
            run.kill()


def until(look: Callable[[], object], *runs: "subprocess.Popen[str]") -> None:
    """`runs` must go on until then."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not look():
        assert time.monotonic() < end
        for run in runs:
            assert run.poll() is None, run.communicate()
        time.sleep(0.01)


def children(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]


def left_in(place: Path) -> list[str]:
    return [name for name in os.listdir(place) if name.startswith(".dibs-doctor")]
