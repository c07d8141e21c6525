"""Answers to steps, kept for some minutes under the key that the client sent: asked again, a step is not done again."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from dibs.clock import Clock
from dibs.serve.refusal import Gone

KEPT_SECONDS = 600.0
MOST_ANSWERS = 20_000
MOST_BYTES = 64 * 1024 * 1024
Answer = tuple[int, bytes]


class Remembered:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._answers: OrderedDict[str, tuple[float, Answer]] = OrderedDict()
        self._size = 0
        self._running: dict[str, asyncio.Future[Answer]] = {}

    async def once(self, key: str, act: Callable[[], Awaitable[Answer]]) -> Answer:
        """Do it, unless that was done; while it is being done, wait for that."""
        while key in self._running:
            try:
                return await asyncio.shield(self._running[key])
            except Gone:
                continue  # whoever asked first hung up before anything was done
        if key in self._answers:
            return self._answers[key][1]
        running: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._running[key] = running
        try:
            answer = await act()
        except BaseException as error:
            running.set_exception(error if isinstance(error, Gone) else Gone())
            running.exception()  # seen, also when nobody waits
            raise
        finally:
            del self._running[key]
        running.set_result(answer)
        if answer[0] < 500:
            self._keep(key, answer)
        return answer

    def _keep(self, key: str, answer: Answer) -> None:
        now = self._clock.boottime()
        self._answers[key] = (now, answer)
        self._size += len(answer[1])
        while self._answers:
            first = next(iter(self._answers))
            kept, (_, body) = self._answers[first]
            few = len(self._answers) <= MOST_ANSWERS and self._size <= MOST_BYTES
            if few and now - kept <= KEPT_SECONDS:
                return
            del self._answers[first]
            self._size -= len(body)
