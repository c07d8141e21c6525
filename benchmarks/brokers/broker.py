"""What every queue with workers of its own offers: enqueue numbered no-op tasks, and the command that drains them."""

import os
from abc import ABC, abstractmethod
from importlib.util import find_spec
from typing import Any

REDIS_URL = "BENCH_REDIS"

Task = dict[str, Any]  # 200 bytes of JSON, with a number


class Broker(ABC):
    name: str
    module: str | None = None
    absent = "`make bench` installs the bench group"  # what to do when the module is not there
    limit: int | None = None  # too slow for more tasks than this
    ours = False
    on_redis = True
    batches = ""  # how it enqueues many at once; empty when it has no way of its own
    note = ""

    def missing(self) -> str | None:
        if self.module is not None and find_spec(self.module) is None:
            return f"{self.module} is not installed; {self.absent}"
        return None

    @abstractmethod
    def open(self, place: str) -> Any:
        """A handle to enqueue with. `place` is the URL of a Redis server, or a folder. In a process of its own."""

    @abstractmethod
    def push(self, handle: Any, tasks: list[Task]) -> None:
        """One call a task, each answered before the next."""

    def push_batch(self, handle: Any, tasks: list[Task]) -> None:
        """As fast as it can, where it has `batches`."""
        raise NotImplementedError

    @abstractmethod
    def commands(self, place: str, processes: int) -> list[list[str]]:
        """The worker commands, ended by SIGTERM when all tasks have run."""


def redis_url() -> str:
    return os.environ.get(REDIS_URL, "redis://127.0.0.1:6379/0")
