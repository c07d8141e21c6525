"""`/v1/search`: over all queues that are served."""

import asyncio
from collections.abc import Callable
from typing import Any

from dibs.errors import DibsError
from dibs.queues.remote.wire import dump
from dibs.redact import redact
from dibs.serve.asked import checked_query
from dibs.serve.house import House
from dibs.serve.reply import Reply, Send
from dibs.serve.request import Request
from dibs.serve.routes import SEARCH
from dibs.serve.search.asking import asked

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
    found = await asyncio.gather(*(house.counters[name].desk.search(wanted) for name in names), return_exceptions=True)
    hits: list[dict[str, Any]] = []
    total, without = 0, {}
    for name, answer in zip(names, found, strict=True):
        if isinstance(answer, DibsError) and len(names) > 1:
            without[name] = redact(str(answer))
        elif isinstance(answer, BaseException):
            raise answer
        else:
            total += answer["found"]
            hits += [{"queue": name, **hit} for hit in answer["tasks"]]
    hits.sort(key=_KEYS[wanted.sort], reverse=wanted.sort == "newest")
    return Reply(200, dump({"found": total, "tasks": hits[: wanted.limit], "without": without}))
