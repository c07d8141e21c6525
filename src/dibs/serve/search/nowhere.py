"""How a queue is searched, and what a daemon without indexes says."""

from collections.abc import Awaitable, Callable
from typing import Any

from dibs.errors import Unsupported
from dibs.serve.search.asking import Asked

Search = Callable[[Asked], Awaitable[dict[str, Any]]]


async def no_search(asked: Asked) -> dict[str, Any]:
    raise Unsupported("this daemon does not search; ask a queue that it serves with `dibs search` where that is")
