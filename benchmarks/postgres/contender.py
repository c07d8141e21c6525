"""What every queue on PostgreSQL offers: make its tables, push, and work until it is ended or nothing is left.

A worker calls `run` with each task's payload, as `{"n": number, "pad": …}`. `setting` is the one number that matters
most to a contender's speed: how many tasks a process has under way, or fetches at once.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from benchmarks.brokers.noop import run

__all__ = ["BATCH", "Contender", "chunks", "run"]

BATCH = 100
Document = dict[str, Any]


class Contender(ABC):
    name: str
    kind = "peer"  # floor, dibs or peer
    database: str  # where it works; its kin work there too
    modules: tuple[str, ...] = ()  # what must be importable
    batched = False  # fetches many tasks with one statement
    chained = False  # finishes a task and fetches the next with one statement
    tried: tuple[int, ...] = (1,)  # settings
    usual = 1  # the setting when none is tried
    setting_means = ""
    pushes = True  # False: another of its kind pushes the same way
    leaves = False  # its workers end by themselves when nothing is left
    limit: int | None = None  # too slow for more tasks than this
    unfinished: str  # a statement: how many tasks are not finished
    note = ""

    def missing(self) -> str | None:
        """Why it cannot run here, or None."""
        for module in self.modules:
            try:
                import_module(module)  # here, so that the forked workers need not
            except ImportError:
                return f"{module} is not installed; `make bench` installs the bench group"
        return None

    @abstractmethod
    def install(self, url: str) -> None:
        """Make its tables where there are none."""

    @abstractmethod
    def push(self, url: str, documents: list[Document], batch: int) -> float:
        """Push all, `batch` with each call, by one connection; the seconds that took, without opening it."""

    @abstractmethod
    def work(self, url: str, setting: int) -> None:
        """Be a worker, in a process of its own."""

    def commands(self, url: str, processes: int, setting: int, idle: bool = False) -> list[list[str]]:
        """Commands to start instead of `work`, where the queue has a worker of its own. `idle`: they must not leave."""
        return []


def chunks(documents: list[Document], size: int) -> Iterator[list[Document]]:
    for start in range(0, len(documents), size):
        yield documents[start : start + size]
