"""A queue in a folder, with kills at random moments."""

import json
import os
import random
import subprocess
from pathlib import Path

from children import command, environment
from crash.test_chaos import BAD

TASKS = 3000 if os.environ.get("DIBS_LONG") else 150


def kills_lose_nothing(folder: Path, tasks: int = TASKS) -> None:
    seed = random.randrange(10**6)
    folder.mkdir(exist_ok=True)
    script = command("crash.chaos", str(folder), str(seed), str(tasks))
    run = subprocess.run(script, capture_output=True, text=True, env=environment(), timeout=300)
    assert run.returncode == 0, f"seed {seed}: {run.stderr}"
    report = json.loads(run.stdout)
    assert {what: report[what] for what in BAD} == {what: [] for what in BAD}, f"seed {seed}"
    assert report["pushed"] > 20
