"""A process killed at any system call of any step loses nothing and completes nothing twice."""

import json
import subprocess
from pathlib import Path

import pytest

from children import command, environment
from crash.scenarios import SCENARIOS
from crash.spec_scenarios import SPEC_SCENARIOS

LEAST_POINTS = {"create": 20, "push": 5, "push keyed": 10, "claim complete": 5, "take over": 6}


@pytest.mark.parametrize("scenario", [*SCENARIOS, *SPEC_SCENARIOS])
def test_a_kill_at_every_system_call(scenario: str, quick_folder: Path) -> None:
    script = command("crash.kill_each", str(quick_folder), scenario)
    run = subprocess.run(script, capture_output=True, text=True, env=environment(), timeout=600)
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout)
    assert report["failures"] == []
    assert report["points"] >= LEAST_POINTS.get(scenario, 2)
