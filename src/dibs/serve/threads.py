"""The threads of one queue, in which is done for it what may block. Each queue has its own: one that does not answer
takes none from the others."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from dibs.serve.refusal import Refusal

T = TypeVar("T")
MOST_EACH = 8
MOST_TOGETHER = 64
MOST_BACKLOG = 2000


def share(queues: int) -> int:
    """How many threads each of so many queues may have."""
    return max(2, min(MOST_EACH, MOST_TOGETHER // max(queues, 1)))


class Threads:
    def __init__(self, name: str, most: int) -> None:
        self._name = name
        self._pool = ThreadPoolExecutor(most, thread_name_prefix=f"dibs-serve-{name}")
        self._begun: dict[Future[Any], float] = {}  # what is being done or waits for it, in this order

    async def run(self, act: Callable[..., T], *args: Any) -> T:
        """What was begun is finished, whoever hangs up."""
        if len(self._begun) >= MOST_BACKLOG:
            many = len(self._begun)
            raise Refusal("busy", f"{many} requests wait for queue {self._name!r} already; ask again later")
        doing = self._pool.submit(act, *args)
        self._begun[doing] = asyncio.get_running_loop().time()
        doing.add_done_callback(self._over)
        return await asyncio.wrap_future(doing)

    def _over(self, done: Future[Any]) -> None:
        self._begun.pop(done, None)

    def waited(self) -> float:
        """For how many seconds the oldest of what was begun has not ended."""
        try:
            return asyncio.get_running_loop().time() - next(iter(self._begun.values()))
        except (StopIteration, RuntimeError):  # nothing is begun, or something ended just now
            return 0.0

    def close(self) -> None:
        self._pool.shutdown()
