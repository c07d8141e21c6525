"""The doctor on two mounts of one place at once, each on a machine of its own."""

import json
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

from children import command, environment
from filesystems.pack import machines
from hosts.machine import Machine

TRIES = 3


class NoTime(Exception):
    """What the doctor said instead of a verdict."""


def together(one: Path, two: Path, folder: Path) -> tuple[int, dict[str, Any]]:
    """(exit code, report). Again where the machine had no time: a doctor who could not try something says so, and that
    is no verdict. `folder`: for the machines' own files."""
    with machines(folder) as (near, far):
        for _ in range(TRIES - 1):
            with suppress(NoTime):
                return _once(near, one, far, two)
        return _once(near, one, far, two)


def _once(near: Machine, one: Path, far: Machine, two: Path) -> tuple[int, dict[str, Any]]:
    words = near.run(*command("dibs", "doctor", str(one), "--quick", "--json", "--hosts", "2"))
    with subprocess.Popen(words, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as begun:
        assert begun.stderr is not None
        code = begun.stderr.readline().split()[-1]
        join = far.run(*command("dibs", "doctor", str(two), "--join", code))
        joined = subprocess.run(join, env=environment(), capture_output=True, text=True, timeout=300)
        if joined.returncode:
            near.kill_all()
        out, _ = begun.communicate(timeout=300)
    if joined.returncode:
        raise _no_time(joined.stderr)
    report = json.loads(out)
    if report["verdict"] == "no verdict":
        raise _no_time(report["reason"])
    return begun.returncode, report


def _no_time(why: str) -> NoTime:
    print(f"no verdict: {why}", flush=True)
    return NoTime(why)
