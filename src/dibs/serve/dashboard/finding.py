"""Tasks by a text: from the search index where there is one, and else, or where it knows nothing, by reading."""

import asyncio
from itertools import islice
from typing import Any

from dibs.errors import BadInput, DibsError
from dibs.serve.counter import Counter
from dibs.serve.dashboard.listings import ROWS
from dibs.serve.dashboard.writing import written
from dibs.serve.desk import Desk
from dibs.serve.masking import Hide
from dibs.serve.refusal import Refusal
from dibs.serve.search.asking import MOST
from dibs.serve.search.asking import asked as query_of
from dibs.task import Task

MOST_READ = 5000
PATIENCE_SECONDS = 3.0  # for an index in the making
_CHARACTERS = 4000


async def find(counter: Counter, chosen: dict[str, Any], text: str, hide: Hide) -> dict[str, Any]:
    """A page of tasks; `cut` when there may be more. The index knows whole words, reading finds parts of them: a page
    that follows another (`next`) comes from where that came from. BadInput when the query cannot be read and stands
    nowhere as it is."""
    way, skip = _place(chosen.get("next"))
    wrong: BadInput | None = None
    if way != "read":
        try:
            found = await _indexed(counter.desk, chosen, text, skip)
        except BadInput as error:
            found, wrong = None, error
        if found is not None and (found["tasks"] or way):
            return found
    found = await counter.run(_read, counter.desk, chosen, text.lower(), hide, skip)
    if wrong is not None and not found["tasks"]:
        raise wrong
    return found


def _place(following: str | None) -> tuple[str, int]:
    """(from where the next page comes, how many were before it)."""
    way, _, skip = (following or " 0").partition(" ")
    if way not in ("", "index", "read") or not (skip.isascii() and skip.isdigit() and len(skip) < 7):
        raise Refusal("bad-input", "this is no page of a search; search again")
    return way, int(skip)


async def _indexed(desk: Desk, chosen: dict[str, Any], text: str, skip: int) -> dict[str, Any] | None:
    fields = [("state", chosen.get("state")), ("project", chosen.get("project"))]
    fields += [("label", label) for label in chosen.get("label", ())]
    quoted = [f'{name}:"{_plain(value)}"' for name, value in fields if value]
    query_of(text)  # what is wrong with it alone
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            answer = await desk.search(query_of(" ".join([*quoted, f"({text})"]), limit=min(skip + ROWS, MOST)))
    except (DibsError, Refusal, TimeoutError):
        return None
    tasks = [hit["task"] for hit in answer["tasks"][skip:] if _fits(hit["task"], chosen)]
    last, total = skip + ROWS, answer["found"]
    more = last < min(total, MOST)
    following = f"index {last}" if more else None
    return {"tasks": tasks, "next": following, "cut": not more and total > last, "found": total}


def _plain(value: str) -> str:
    return value.replace("\\", " ").replace('"', " ")


def _fits(task: dict[str, Any], chosen: dict[str, Any]) -> bool:
    state, project = chosen.get("state"), chosen.get("project")
    right = (not state or task["state"] == state) and (not project or task["project"] == project)
    return right and set(chosen.get("label", ())) <= set(task["labels"])


def _read(desk: Desk, chosen: dict[str, Any], text: str, hide: Hide, skip: int) -> dict[str, Any]:
    tasks: list[dict[str, Any]] = []
    listing = desk.look.tasks(chosen.get("state"), project=chosen.get("project"), labels=chosen.get("label", ()))
    read = found = 0
    for task in islice(listing, MOST_READ):
        read += 1
        if _has(task, text, hide):
            found += 1
            if found > skip + ROWS:
                break
            if found > skip:
                tasks.append(task.to_json())
    following = f"read {skip + ROWS}" if found > skip + ROWS else None
    return {"tasks": tasks, "next": following, "cut": following is None and read == MOST_READ, "read": read}


def _has(task: Task, text: str, hide: Hide) -> bool:
    if text in task.id or text in (task.key or "").lower():
        return True
    return text in written(task.payload, _CHARACTERS, hide)[0].lower()
