"""A process killed at any system call of any step loses nothing and completes nothing twice."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from crash.scenarios import SCENARIOS

TESTS = str(Path(__file__).parents[1])
LEAST_POINTS = {"create": 20, "push": 5, "push keyed": 10, "claim complete": 5, "take over": 6}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_kill_at_every_system_call(scenario: str, quick_folder: Path) -> None:
    command = [sys.executable, "-m", "crash.kill_each", str(quick_folder), scenario]
    run = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": TESTS}, timeout=120)
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    assert report["failures"] == []
    assert report["points"] >= LEAST_POINTS.get(scenario, 2)
