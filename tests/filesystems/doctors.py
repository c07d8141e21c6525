"""The doctor on two mounts of one place at once, as two hosts would."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from children import environment

TRIES = 3


class NoTime(Exception):
    """What the doctor said instead of a verdict."""


def together(one: Path, two: Path) -> tuple[int, dict[str, Any]]:
    """(exit code, report). Again where the machine had no time: a doctor who could not try something says so, and that
    is no verdict."""
    for left in reversed(range(TRIES)):
        try:
            return _once(one, two)
        except NoTime as error:
            if not left:
                raise
            print(f"again: {error}", flush=True)
    raise AssertionError


def _once(one: Path, two: Path) -> tuple[int, dict[str, Any]]:
    words = [sys.executable, "-m", "dibs", "doctor", str(one), "--quick", "--json", "--hosts", "2"]
    with subprocess.Popen(words, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as begun:
        assert begun.stderr is not None
        code = begun.stderr.readline().split()[-1]
        join = [sys.executable, "-m", "dibs", "doctor", str(two), "--join", code]
        joined = subprocess.run(join, env=environment(), capture_output=True, text=True, timeout=300)
        if joined.returncode:
            begun.kill()
        out, _ = begun.communicate(timeout=300)
    if joined.returncode:
        raise NoTime(joined.stderr)
    report = json.loads(out)
    untried = [
        found["happened"] for found in report["findings"] if "could not be tried: no answer" in found["happened"]
    ]
    if untried:
        raise NoTime(untried[0])
    return begun.returncode, report
