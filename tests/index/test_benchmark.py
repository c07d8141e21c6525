"""The benchmark of the index runs, with every contender, and all agree on the outcome. No speed is judged here."""

import json
import subprocess
import sys
from pathlib import Path

from waiting import LONG_PATIENCE

ROOT = Path(__file__).parents[2]


def test_it_runs_with_every_contender(tmp_path: Path) -> None:
    out = tmp_path / "found.json"
    words = ["--size", "tiny", "--only", "index", "--dir", str(tmp_path / "disk"), "--json", str(out)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", *words], cwd=ROOT, capture_output=True, text=True, timeout=LONG_PATIENCE
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (outcome,) = json.loads(out.read_text())["outcomes"]
    assert outcome["faults"] == [] and len(outcome["goals"]) == 6
    assert {"dibs", "Polars", "DuckDB", "a file for each record"} <= set(outcome["data"])
