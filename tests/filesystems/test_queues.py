"""A queue of dibs on every place that is called safe, with kills at random moments: nothing lost, nothing twice."""

import json
import random
import subprocess
from pathlib import Path

import pytest

from children import command, environment
from crash.test_chaos import BAD
from filesystems.kinds import LOCAL


@pytest.mark.parametrize("kind", LOCAL)
def test_kills_lose_nothing(kind: str, tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    with LOCAL[kind].mount(tmp_path) as points:
        script = command("crash.chaos", str(points[0]), str(seed), "600")
        run = subprocess.run(script, capture_output=True, text=True, env=environment(), timeout=300)
        assert run.returncode == 0, f"seed {seed}: {run.stderr}"
    report = json.loads(run.stdout)
    assert {what: report[what] for what in BAD} == {what: [] for what in BAD}, f"seed {seed}"
    assert report["pushed"] > 20
