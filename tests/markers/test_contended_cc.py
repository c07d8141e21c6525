"""Real processes on a file system whose rename lets two through when they contend: with markers nothing is doubled or
lost; without them it is, which shows that the file system is as bad as it should be."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import dibs
from children import environment
from dibs.clock import SYSTEM
from doctor.broken import contested
from waiting import LONG_PATIENCE

CONTENDERS = 4
TASKS = 2000 if os.environ.get("DIBS_LONG") else 250


def fought_over(url: str, broken: dict[str, str]) -> tuple[Counter[str], Counter[str]]:
    """(ids by how often they were completed, by how many files they have in the end)."""
    path = Path(url.partition("?")[0])
    with dibs.open(url) as queue:
        ids = [task.id for task in queue.push_many([{"n": n} for n in range(TASKS)])]
        command = [sys.executable, "-m", "dibs.testing.contender", "fight", url, "0"]
        fighters = [
            subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                env={**environment(), **broken, "DIBS_BROKEN_BELOW": f"{path}/"},
            )
            for _ in range(CONTENDERS)
        ]  # fmt: skip
        for fighter in fighters:
            assert fighter.stdout is not None and fighter.stdout.readline() == "ready\n"
        together = SYSTEM.boottime() + 0.2
        for fighter in fighters:
            assert fighter.stdin is not None
            fighter.stdin.write(f"{together}\n")
            fighter.stdin.flush()
        said = [fighter.communicate(timeout=LONG_PATIENCE)[0].splitlines() for fighter in fighters]
    done = Counter(json.loads(line)[0] for lines in said for line in lines)
    files = Counter(file.name[:32] for file in path.rglob("*") if file.name[:32] in done or file.name[:32] in ids)
    return Counter({task_id: done[task_id] for task_id in ids}), files


def test_with_markers_each_task_is_completed_once(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    done, files = fought_over(f"{tmp_path}/q?shards=1&sync=off&steps=marker", contested(tmp_path_factory.getbasetemp()))
    assert set(done.values()) == {1}
    assert set(files.values()) == {1} and len(files) == TASKS
    assert not [path for path in (tmp_path / "q/markers").rglob("*") if path.is_file()]


def test_without_markers_some_are_doubled(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    done, files = fought_over(f"{tmp_path}/q?shards=1&sync=off", contested(tmp_path_factory.getbasetemp()))
    assert max(done.values()) > 1 or max(files.values()) > 1
