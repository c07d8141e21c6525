"""A queue of dibs on every place that is called safe, with kills at random moments: nothing lost, nothing twice."""

import json
import os
import random
import subprocess
from pathlib import Path

import pytest

from children import command, environment
from filesystems import hosts_judge
from filesystems.chaos import kills_lose_nothing
from filesystems.kinds import LOCAL
from filesystems.mounting import two_of

LONG = bool(os.environ.get("DIBS_LONG"))
TASKS = 1000 if LONG else 80
CHAOS = {"DIBS_CHAOS_HOLD": "0.1", "DIBS_CHAOS_SECONDS": "120"}
SLOW_TTL = {"DIBS_CHAOS_TTL": "8"}  # where each sees the other late


@pytest.mark.parametrize("kind", LOCAL)
def test_kills_lose_nothing(kind: str, tmp_path: Path) -> None:
    with LOCAL[kind].mount(tmp_path) as points:
        kills_lose_nothing(points[0])


@pytest.mark.parametrize("kind", LOCAL)
def test_kills_lose_nothing_over_two_mounts(kind: str, tmp_path: Path) -> None:
    """Each with workers of its own that know nothing of each other but what they see there."""
    seed, logs = random.randrange(10**6), tmp_path / "logs"
    logs.mkdir()
    mount = LOCAL[kind].seen or LOCAL[kind].mount
    with mount(tmp_path) as points, two_of(points) as (one, two):
        script = command("filesystems.hosts_chaos", "file", f"{one}:{two}", str(logs), str(seed), str(TASKS))
        ttl = SLOW_TTL if LOCAL[kind].seen else {}
        run = subprocess.run(script, env={**environment(), **CHAOS, **ttl}, capture_output=True, text=True, timeout=300)
        assert run.returncode == 0, f"seed {seed}: {run.stderr}"
    report = json.loads(run.stdout.splitlines()[-1])
    assert {what: report[what] for what in hosts_judge.BAD} == {what: [] for what in hosts_judge.BAD}, f"seed {seed}"
    assert report["completed"] == report["pushed"] == TASKS
    assert report["kills"]
