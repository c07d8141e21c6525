"""What every contender on a bucket offers: push tasks, then claim, read and complete them, so many at once.

Both are timed. What a contender owes when the last task is done (deletes that it has put off) it pays in `close`,
which counts as part of the drain.
Every one has sent a task through before the clock starts: connections are open then.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar
from uuid import uuid4

From = TypeVar("From")
To = TypeVar("To")


@dataclass
class Ran:
    push_seconds: float
    drain_seconds: float
    processor_seconds: float
    seen: list[int]
    requests: dict[str, int]

    @property
    def seconds(self) -> float:
        return self.push_seconds + self.drain_seconds


class BucketContender(ABC):
    name: str
    kind = "peer"  # floor, dibs or peer

    @abstractmethod
    def open(self, server: Any, bucket: str, prefix: str, concurrency: int) -> None: ...

    @abstractmethod
    def push(self, documents: list[dict[str, Any]]) -> None: ...

    @abstractmethod
    def drain(self, count: int) -> list[int]:
        """Claim, read and complete so many tasks; the numbers that they carry."""

    def close(self) -> None:  # noqa: B027
        """Do what was put off."""

    @abstractmethod
    def requests(self) -> dict[str, int]:
        """Sent so far, by kind."""


def measure(
    make: type[BucketContender], server: Any, bucket: str, documents: list[dict[str, Any]], concurrency: int
) -> Ran:
    contender = make()
    contender.open(server, bucket, f"queues/{uuid4().hex}", concurrency)
    contender.push(documents[:1])
    contender.drain(1)
    before = contender.requests()
    spent, begun = time.process_time(), time.perf_counter()
    contender.push(documents)
    pushed = time.perf_counter()
    seen = contender.drain(len(documents))
    contender.close()
    ended = time.perf_counter()
    return Ran(
        push_seconds=pushed - begun,
        drain_seconds=ended - pushed,
        processor_seconds=time.process_time() - spent,
        seen=seen,
        requests={kind: number - before.get(kind, 0) for kind, number in contender.requests().items()},
    )


def at_once(concurrency: int, act: Callable[[From], To], items: Iterable[From]) -> list[To]:
    """By so many threads, each taking the next when it has done one."""
    if concurrency == 1:
        return [act(item) for item in items]
    waiting = iter(items)
    lock = Lock()
    nothing = object()

    def lane() -> list[To]:
        done: list[To] = []
        while True:
            with lock:
                item: Any = next(waiting, nothing)
            if item is nothing:
                return done
            done.append(act(item))

    with ThreadPoolExecutor(concurrency) as pool:
        lanes = [pool.submit(lane) for _ in range(concurrency)]
        return [done for one in lanes for done in one.result()]
