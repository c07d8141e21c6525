"""Commands that scripts call once a task load only what they need."""

import subprocess
import sys
from pathlib import Path

import pytest

from waiting import PATIENCE

from .conftest import PROGRAM, Run, environment


def modules(tmp_path: Path, *words: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", PROGRAM, *words],
        cwd=tmp_path,
        capture_output=True,
        env=environment(),
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr[-500:]
    lines = [line for line in done.stderr.decode().splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines}


HEAVY = {
    "argparse",
    "rich",
    "tomllib",
    "gettext",
    "dibs.cli.push",
    "dibs.cli.look",
    "dibs.worker",
    "difflib",
    "textwrap",
}


def test_version_loads_next_to_nothing(tmp_path: Path) -> None:
    loaded = modules(tmp_path, "--version")
    assert not loaded & {*HEAVY, "json", "dibs.queues", "dibs.cli.leases"}


@pytest.mark.parametrize("command", ["claim", "complete"])
def test_steps_load_no_parser_and_no_terminal(dibs: Run, tmp_path: Path, command: str) -> None:
    task = dibs("push", "q", "1").out.strip()
    if command == "complete":
        dibs("claim", "q")
    words = {"claim": ["claim", "q", "--ttl", "5m"], "complete": ["complete", "q", task, "--epoch", "1"]}[command]
    assert not modules(tmp_path, *words) & HEAVY
