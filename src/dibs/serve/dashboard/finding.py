"""Tasks by a text: from the search index where there is one, and else, or where it knows nothing, by reading."""

import asyncio
from itertools import islice
from typing import Any

from dibs.errors import DibsError
from dibs.serve.counter import Counter
from dibs.serve.dashboard.listings import ROWS
from dibs.serve.dashboard.writing import Hide, written
from dibs.serve.desk import Desk
from dibs.serve.refusal import Refusal
from dibs.serve.search.asking import asked as query_of
from dibs.task import Task

MOST_READ = 5000
PATIENCE_SECONDS = 3.0  # for an index in the making
_CHARACTERS = 4000


async def find(counter: Counter, chosen: dict[str, Any], text: str, hide: Hide) -> dict[str, Any]:
    """A page of tasks; `cut` when there may be more. The index knows whole words, reading finds parts of them."""
    found = await _indexed(counter.desk, chosen, text)
    if found is None or not found["tasks"]:
        found = await counter.run(_read, counter.desk, chosen, text.lower(), hide)
    return found


async def _indexed(desk: Desk, chosen: dict[str, Any], text: str) -> dict[str, Any] | None:
    fields = [("state", chosen.get("state")), ("project", chosen.get("project"))]
    fields += [("label", label) for label in chosen.get("label", ())]
    quoted = [f'{name}:"{_plain(value)}"' for name, value in fields if value]
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            answer = await desk.search(query_of(" ".join([*quoted, text]), limit=ROWS))
    except (DibsError, Refusal, TimeoutError):
        return None
    tasks = [hit["task"] for hit in answer["tasks"] if _fits(hit["task"], chosen)]
    return {"tasks": tasks, "next": None, "cut": answer["found"] > len(tasks)}


def _plain(value: str) -> str:
    return value.replace("\\", " ").replace('"', " ")


def _fits(task: dict[str, Any], chosen: dict[str, Any]) -> bool:
    state, project = chosen.get("state"), chosen.get("project")
    right = (not state or task["state"] == state) and (not project or task["project"] == project)
    return right and set(chosen.get("label", ())) <= set(task["labels"])


def _read(desk: Desk, chosen: dict[str, Any], text: str, hide: Hide) -> dict[str, Any]:
    tasks: list[dict[str, Any]] = []
    listing = desk.look.tasks(chosen.get("state"), project=chosen.get("project"), labels=chosen.get("label", ()))
    read = 0
    for task in islice(listing, MOST_READ):
        read += 1
        if _has(task, text, hide):
            tasks.append(task.to_json())
            if len(tasks) == ROWS:
                break
    return {"tasks": tasks, "next": None, "cut": len(tasks) == ROWS or read == MOST_READ}


def _has(task: Task, text: str, hide: Hide) -> bool:
    if text in task.id or text in (task.key or "").lower():
        return True
    return text in written(task.payload, _CHARACTERS, hide)[0].lower()
