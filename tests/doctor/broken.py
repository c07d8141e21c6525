"""File systems that are broken on purpose: `broken.c`, compiled once, put before the real one."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from children import environment

SOURCE = Path(__file__).with_name("broken.c")


@cache
def library(folder: Path) -> Path:
    made = folder / f"broken-{os.getpid()}.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", made, SOURCE, "-ldl"], check=True)
    return made


def contested(folder: Path) -> dict[str, str]:
    """The environment in which a rename that is contested lets two through."""
    table = folder / f"moved-{os.getpid()}"
    if not table.exists():
        table.write_bytes(bytes(8 * 131072))
    return {"LD_PRELOAD": str(library(folder)), "DIBS_BROKEN": "contested", "DIBS_BROKEN_TABLE": str(table)}


def doctor(*words: str, **more: str) -> tuple[int, dict[str, Any]]:
    """(exit code, report) of `dibs doctor … --json`."""
    done = subprocess.run(
        [sys.executable, "-m", "dibs", "doctor", *words, "--json"],
        env={**environment(), **more}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def refusal(*words: str) -> str:
    """The one line that `dibs doctor … --json` says of a place that could not be examined: no verdict, no report."""
    done = subprocess.run(
        [sys.executable, "-m", "dibs", "doctor", *words, "--quick", "--json"],
        env=environment(), capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, ""), done.stdout + done.stderr
    (line,) = done.stderr.splitlines()
    return line


def killed_midway(url: str, begun: Callable[[], bool], how: int = signal.SIGKILL) -> int:
    """A doctor that is ended as soon as it has made something; its exit code."""
    words = [sys.executable, "-m", "dibs", "doctor", url]
    heard = None if how == signal.SIGKILL else partial(signal.signal, how, signal.SIG_DFL)  # also in a run under nohup
    with subprocess.Popen(
        words, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=heard
    ) as run:
        while not begun():
            assert run.poll() is None
            time.sleep(0.01)
        run.send_signal(how)
        run.communicate(timeout=60)
    return run.returncode


def name_of_one_gone(between: str = "-") -> str:
    """As a doctor of this machine would give that has been killed."""
    script = "import random, sys; from dibs.clock import SYSTEM; from dibs.doctor.traces import new_name"
    script += "; print(new_name(SYSTEM, random.Random(), between=sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", script, between], env=environment(), capture_output=True, text=True)
    return done.stdout.strip()


def levels(report: dict[str, Any]) -> dict[str, str]:
    """What was found, without what was good."""
    return {one["check"]: one["level"] for one in report["findings"] if one["level"] not in ("good", "note")}


def words(report: dict[str, Any], check: str) -> str:
    return next(str(one["happened"]) for one in report["findings"] if one["check"] == check)
