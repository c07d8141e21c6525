"""The logs of the hosts compared with what the queue has in the end. Every list must be empty."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import dibs
from crash.chaos import judge, lines
from filesystems.hosts_roles import EVENTS, WORDS

BAD = [
    "lost",
    "not run",
    "cancelled by nobody",
    "completed twice",
    "claimed twice at an epoch",
    "stolen",
    "completed but not so on disk",
    "two of a key",
    "problems",
    "broke",
    "ended by themselves",
]


def judged(form: str, url: str, logs: Path) -> dict[str, Any]:
    by_command = told_by_commands(logs)  # first: the others read what it leaves
    found = judge_folder(url, logs) if form == "dir" else judge(url, logs)
    return {**found, **by_command, "stolen": stolen(logs), "two of a key": two_of_a_key(logs)}


def told_by_commands(logs: Path) -> dict[str, int]:
    """What `dibs work` told of its tasks is put beside what the others logged."""
    counts = {"completed by command": 0, "troubles told": 0}
    for path in list(logs.iterdir()):
        if path.name.endswith(EVENTS):
            events = list(events_in(path))
            told = [event for event in events if event["event"] == "completed"]
            counts["completed by command"] += len(told)
            counts["troubles told"] += sum(event["event"] == "trouble" for event in events)
            path.write_text("".join(f"completed {event['id']} {event['epoch']}\n" for event in told))
        elif path.name.endswith(WORDS):
            broken = [line for line in path.read_text().splitlines() if line.startswith(("Error:", "Traceback"))]
            path.write_text("".join(f"broke dibs work {line}\n" for line in broken))
    return counts


def events_in(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text().splitlines():
        with suppress(ValueError):  # its last line, if it was killed as it wrote
            yield json.loads(line)


def stolen(logs: Path) -> list[str]:
    """Taken from a worker that lives, before its time had run out."""
    return sorted(" ".join(rest) for word, *rest in lines(logs) if word == "stolen")


def two_of_a_key(logs: Path) -> list[str]:
    """Tasks of one key that lived at the same time: the later one's push had returned before anybody began to finish
    the earlier one. Times are of one clock, which all machines share."""
    pushes: dict[str, dict[str, tuple[float, float]]] = {}
    finishing: dict[str, float] = {}
    for word, task_id, *rest in lines(logs):
        if word == "keyed":
            key, start, end = rest[0].split()
            known = pushes.setdefault(key, {}).get(task_id)
            if known is None or float(end) < known[1]:
                pushes[key][task_id] = (float(start), float(end))
        elif word == "finishing":
            finishing[task_id] = min(float(rest[0]), finishing.get(task_id, float("inf")))
    return [
        f"{key}: {later} while {earlier} lived"
        for key, tasks in pushes.items()
        for earlier, (_, was_there) in tasks.items()
        for later, (begun, there) in tasks.items()
        if was_there < begun and there < finishing.get(earlier, float("inf"))
    ]


def judge_folder(url: str, logs: Path) -> dict[str, Any]:
    said: dict[str, list[list[str]]] = {}
    for word, *rest in lines(logs):
        said.setdefault(word, []).append(rest)
    pushed = {task_id for (task_id,) in said.get("pushed", [])}
    completed = Counter(task_id for task_id, _ in said.get("completed", []))
    claimed = Counter((task_id, epoch) for task_id, epoch in said.get("claimed", []))
    with dibs.open(url) as queue:
        states = {task.id: str(task.state) for task in queue.tasks()}
    finished = {task_id for task_id, state in states.items() if state == "completed"}
    return {
        "pushed": len(pushed),
        "completed": len(finished),
        "lost": sorted(pushed - set(states)),
        "not run": sorted(set(states) - finished),
        "cancelled by nobody": [],
        "completed twice": sorted(task_id for task_id, times in completed.items() if times > 1),
        "claimed twice at an epoch": sorted(f"{claim}" for claim, times in claimed.items() if times > 1),
        "completed but not so on disk": sorted(set(completed) - finished),
        "problems": [],
        "broke": sorted({" ".join(rest) for rest in said.get("broke", [])}),
    }
