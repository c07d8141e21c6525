"""`/v1/search`: over all queues that are served."""

import asyncio
from collections.abc import Callable
from typing import Any

from dibs.errors import DibsError, StorageError
from dibs.queues.remote.wire import dump
from dibs.redact import redact
from dibs.serve.asked import checked_query
from dibs.serve.counter import Counter
from dibs.serve.house import House
from dibs.serve.refusal import Refusal
from dibs.serve.reply import Reply, Send
from dibs.serve.request import Request
from dibs.serve.routes import SEARCH
from dibs.serve.search.asking import Asked, asked

ANSWER_SECONDS = 20.0  # shorter than a client waits
_KEYS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "relevance": lambda hit: -hit["score"],
    "priority": lambda hit: (-hit["task"]["priority"], hit["task"]["id"]),
    "newest": lambda hit: hit["task"]["id"],
    "oldest": lambda hit: hit["task"]["id"],
}


async def everywhere(house: House, request: Request, send: Send) -> Reply:
    given = checked_query(SEARCH, request.query)
    wanted = asked(given["q"], given.get("sort"), given.get("limit"))
    names = sorted(house.counters)
    found = await asyncio.gather(*(_found(house.counters[name], wanted) for name in names), return_exceptions=True)
    hits: list[dict[str, Any]] = []
    total, without = 0, {name: missing.why for name, missing in house.absent.items()}
    for name, answer in zip(names, found, strict=True):
        if isinstance(answer, DibsError | Refusal) and len(names) > 1:
            without[name] = redact(str(answer))
        elif isinstance(answer, BaseException):
            raise answer
        else:
            total += answer["found"]
            hits += [{"queue": name, **hit} for hit in answer["tasks"]]
    hits.sort(key=_KEYS[wanted.sort], reverse=wanted.sort == "newest")
    return Reply(200, dump({"found": total, "tasks": hits[: wanted.limit], "without": without}))


async def _found(counter: Counter, wanted: Asked) -> dict[str, Any]:
    if counter.health.why:
        raise counter.health.refusal()
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            return await counter.desk.search(wanted)
    except TimeoutError:
        raise StorageError(f"no answer for {ANSWER_SECONDS:g} s; ask again, or for the other queues by name") from None
