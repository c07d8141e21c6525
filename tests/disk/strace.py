"""Real system calls, seen and killed from outside by strace, where the machine has it and lets it."""

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from children import environment
from waiting import PATIENCE

_LINE = re.compile(r"^\d+ +(\w+)\((.*)\) += 0\b")


@cache
def works() -> bool:
    if shutil.which("strace") is None:
        return False
    return subprocess.run(["strace", "-o", os.devnull, "true"], capture_output=True).returncode == 0


def run(script: str, path: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    """Python running `script` (argv[1] is `path`) under strace."""
    command = ["strace", "-f", "-y", *options, sys.executable, "-c", script, str(path)]
    env = {**environment(), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=PATIENCE)


def trace(script: str, path: Path, calls: str, log: Path) -> list[tuple[str, str]]:
    """(call, arguments) of everything that succeeded, in order."""
    done = run(script, path, "-o", str(log), "-e", f"trace={calls}")
    assert done.returncode == 0, done.stderr
    return [(found[1], found[2]) for line in log.read_text().splitlines() if (found := _LINE.match(line))]
