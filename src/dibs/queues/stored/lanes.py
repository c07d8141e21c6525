"""Doing many things at once, where each is a journey to a store and back."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

From = TypeVar("From")
To = TypeVar("To")


class Lanes:
    def __init__(self, count: int) -> None:
        self._count = count

    @property
    def many(self) -> int:
        """How much is worth starting at once."""
        return 1 if self._count == 1 else self._count * 8

    def each(self, act: Callable[[From], To], items: Iterable[From]) -> Iterator[To]:
        """What `act` makes of each, in order. An error is raised in its turn; what is under way goes on."""
        work = list(items)
        if self._count == 1 or len(work) == 1:
            yield from map(act, work)
            return
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(self._count) as pool:
            yield from pool.map(act, work)
