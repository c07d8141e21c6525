"""What the files themselves say, read without dibs: a second opinion on every claim of the queue."""

import json
import os
import re
from collections import defaultdict
from pathlib import Path

STATES = ("pending", "leased", "scheduled", "blocked", "completed", "failed", "cancelled")
_NAME = re.compile(r"([0-9a-f]{32})\.(\d+)\.(\d+)\.(\d+)\.[^.]+(?:\.([^.]+))?")


def places(root: str | Path) -> dict[str, list[str]]:
    """task id -> every path (below the root) of a file that is this task."""
    found: dict[str, list[str]] = defaultdict(list)
    for state in STATES:
        for folder, _, names in os.walk(f"{root}/{state}"):
            for name in names:
                if match := _NAME.fullmatch(name):
                    found[match[1]].append(os.path.relpath(f"{folder}/{name}", root))
    return found


def state_of(path: str) -> str:
    return path.partition("/")[0]


def epoch_of(path: str) -> int:
    match = _NAME.fullmatch(path.rpartition("/")[2])
    assert match is not None
    return int(match[2])


def problems(root: str | Path) -> list[str]:
    """A task is one file, whole. What is not so."""
    wrong = []
    for task_id, paths in places(root).items():
        if len(paths) != 1:
            wrong.append(f"task {task_id} is {len(paths)} files: {paths}")
        for path in paths:
            try:
                if json.loads(Path(root, path).read_bytes())["id"] != task_id:
                    wrong.append(f"{path} holds another task")
            except (ValueError, KeyError, TypeError) as error:
                wrong.append(f"{path} is not whole: {error}")
    return wrong
