"""The benchmark of embedded queues runs with every contender. No speed is judged here."""

import json
import subprocess
import sys
from pathlib import Path

from waiting import LONG_PATIENCE

ROOT = Path(__file__).parents[2]


def test_embedded_queues_run_with_every_contender(tmp_path: Path) -> None:
    out = tmp_path / "found.json"
    words = ["--size", "tiny", "--only", "embedded", "--dir", str(tmp_path / "disk"), "--json", str(out)]
    command = [sys.executable, "-m", "benchmarks", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LONG_PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = json.loads(out.read_text())["outcomes"]
    for group in ("not synced, one at a time/dibs lmdb:", "durable, batches of 100/dibs lmdb:, batches of 100"):
        for processes in (1, 4):
            series = found["data"][f"{group}/{processes}"]
            assert series["median"] > 0 and series["doubled"] == series["lost"] == 0, group
    assert found["data"]["not synced, one at a time/LMDB/1"]["median"] > 0
    for contender in ("persist-queue", "litequeue", "huey"):
        there = any(f"/{contender}" in name for name in found["data"])
        assert there or any(line.startswith(contender) for line in found["missing"]), contender
    assert found["goals"][-1]["met"] is not None
