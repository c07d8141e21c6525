"""Several journeys to a store at once, where each takes its time."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

From = TypeVar("From")
To = TypeVar("To")


def each(count: int, act: Callable[[From], To], items: Iterable[From]) -> Iterator[To]:
    """What `act` makes of each, in order, `count` at a time. After an error nothing more is begun."""
    work = list(items)
    if count == 1 or len(work) < 2:
        yield from map(act, work)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(count, len(work)), "index") as pool:
        begun = [pool.submit(act, item) for item in work]
        try:
            for one in begun:
                yield one.result()
        finally:
            for one in begun:
                one.cancel()
