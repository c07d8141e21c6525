"""Six clones share specs through a remote that fails by chance, while workers are killed and users edit.

Longer: python -m tests.team --mode push --specs 300
"""

import json
import random
import subprocess
from pathlib import Path

import pytest

from children import command, environment


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["push", "refs"])
def test_every_spec_is_completed_once_and_no_clone_suffers(mode: str, quick_folder: Path) -> None:
    seed = random.randrange(10**6)
    args = ["--mode", mode, "--specs", "15", "--seed", str(seed), "--seconds", "600", "--folder", str(quick_folder)]
    run = subprocess.run(command("team.run", *args), capture_output=True, text=True, env=environment(), timeout=1500)
    assert run.stdout, f"seed {seed}: {run.stderr}"
    report = json.loads(run.stdout)
    assert report["problems"] == [], f"seed {seed}"
    assert sum(report["kills"].values()) >= 2, report
    assert report["taken over by another clone"] >= 1, report
    assert report["journals"]["lost"] >= 1, report
    assert sum(report["users"].values()) >= 5, report
