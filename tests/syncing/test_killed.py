"""A site that is killed, anywhere: nothing is lost, nothing is done twice in the record, and the next pass goes on."""

import json
import random
import subprocess
from pathlib import Path

import pytest

import children
from waiting import LONG_PATIENCE


@pytest.mark.parametrize(("kind", "step"), [("file", 4), ("stored", 9)])
def test_killed_before_every_few_system_calls(kind: str, step: int, quick_folder: Path) -> None:
    first = random.randint(1, step)
    done = subprocess.run(
        children.command("syncing.kill_each", str(quick_folder), kind, str(first), str(step)),
        env=children.environment(), capture_output=True, text=True, timeout=LONG_PATIENCE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["failures"] == [], f"first {first}"
    assert found["points"] > 100
