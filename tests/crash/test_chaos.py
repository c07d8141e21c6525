"""Thousands of tasks while producers, workers and stewards are killed at random moments."""

import json
import random
import subprocess
from pathlib import Path

import pytest

from children import command, environment

BAD = ["lost", "not run", "cancelled by nobody", "completed twice", "claimed twice at an epoch",
       "completed but not so on disk", "refused for no reason", "problems", "broke"]  # fmt: skip


@pytest.mark.slow
def test_random_kills_lose_nothing_and_complete_nothing_twice(tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    script = command("crash.chaos", str(tmp_path), str(seed), "3000")
    run = subprocess.run(script, capture_output=True, text=True, env=environment(), timeout=900)
    assert run.returncode == 0, f"seed {seed}: {run.stderr}"
    report = json.loads(run.stdout)
    assert {what: report[what] for what in BAD} == {what: [] for what in BAD}, f"seed {seed}"
    assert report["pushed"] >= 500
    assert set(report["kills"]) == {"produce", "work", "steward"}
    assert min(report["kills"].values()) > 10
    assert report["taken over"] > 10
