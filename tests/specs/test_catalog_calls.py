"""What a look at a folder asks of the system, counted: no clock is needed to see that a list got slower."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from waiting import PATIENCE

FILES = 200
PROGRAM = """
import json, os, sys
from collections import Counter
from dibs.clock import SystemClock
from dibs.specs.catalog import Catalog

class Later(SystemClock):
    def wall(self):  # the files were written long ago
        return super().wall() + 60

folder, cache = sys.argv[1:]
calls, opened = Counter(), []

def counted(name, call):
    def counting(*words, **more):
        calls[name] += 1
        return call(*words, **more)
    return counting

for name in ("open", "read", "fstat", "stat", "lstat", "close", "readlink", "listdir"):
    setattr(os, name, counted(name, getattr(os, name)))
sys.addaudithook(lambda event, words: opened.append(str(words[0])) if event == "open" else None)
count = len(Catalog(folder, cache=cache, clock=Later()).specs())
print(json.dumps({"count": count, "calls": calls, "opened": sum(name.endswith(".md") for name in opened)}))
"""


def look(folder: Path, cache: Path) -> dict[str, Any]:
    command = [sys.executable, "-c", PROGRAM, str(folder), str(cache)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_cold_look_makes_four_calls_a_file_and_a_warm_one_opens_none(tmp_path: Path) -> None:
    folder, cache = tmp_path / "specs", tmp_path / "cache"
    folder.mkdir()
    for number in range(FILES):
        (folder / f"spec-{number}.md").write_text(f"---\nstatus: pending\nlabels: [l{number}]\n---\n# Title\n\ntext\n")
    cold = look(folder, cache)
    assert (cold["count"], cold["opened"]) == (FILES, FILES)
    assert sum(cold["calls"].values()) < 4 * FILES + 50
    warm = look(folder, cache)
    assert (warm["count"], warm["opened"]) == (FILES, 0)
    assert sum(warm["calls"].values()) < 50
    os.utime(folder / "spec-7.md", (1, 1))
    assert look(folder, cache)["opened"] == 1
