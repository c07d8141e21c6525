"""What every contender offers: fill a folder, open it in a worker, drain it there, and push one at a time.

`drain` yields a task's payload after the task is finished for good, and ends when nothing is left.
Payloads are handed over as bytes; a contender that stores bytes need not decode them.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from importlib import import_module
from typing import Any


class Contender(ABC):
    name: str
    kind = "peer"  # floor, dibs or peer
    module: str | None = None  # what must be importable
    drain_durability: str  # what a claim and a completion survive
    push_durability = ""
    limit: int | None = None  # slows down with length: run with at most so many tasks
    shared = True  # several processes may drain one queue
    equal_durability = True  # False: a drain may lose what was pushed, so it is shown and not judged
    note = ""

    def missing(self) -> str | None:
        """Why it cannot run here, or None."""
        if self.module is None:
            return None
        try:
            import_module(self.module)  # here, so that the forked workers need not
        except ImportError:
            return f"{self.module} is not installed; `make bench` installs the bench group"
        return None

    @abstractmethod
    def fill(self, folder: str, payloads: list[bytes]) -> None:
        """Put everything in, as fast as it can; this is not timed."""

    @abstractmethod
    def open(self, folder: str, rank: int = 0, ranks: int = 1) -> Any:
        """A handle for one worker process: number `rank` of `ranks`."""

    @abstractmethod
    def drain(self, handle: Any) -> Iterator[Any]: ...

    def push(self, handle: Any, payloads: list[bytes]) -> None:
        """Put each in, by itself, with `push_durability`; timed."""
        raise NotImplementedError
