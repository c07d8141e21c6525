"""What every queue with workers of its own offers: enqueue numbered no-op tasks, and the command that drains them."""

import os
from abc import ABC, abstractmethod
from importlib.util import find_spec

REDIS_URL = "BENCH_REDIS"


class Broker(ABC):
    name: str
    module: str | None = None
    limit: int | None = None  # too slow for more tasks than this
    note = ""

    def missing(self) -> str | None:
        if self.module is not None and find_spec(self.module) is None:
            return f"{self.module} is not installed; `make bench` installs the bench group"
        return None

    @abstractmethod
    def enqueue(self, place: str, count: int) -> None:
        """All tasks, numbered from 0. `place` is the Redis URL, or a folder for dibs. Runs in a process of its own."""

    @abstractmethod
    def commands(self, place: str, processes: int) -> list[list[str]]:
        """The worker commands, ended by SIGTERM when all tasks have run."""


def redis_url() -> str:
    return os.environ.get(REDIS_URL, "redis://127.0.0.1:6379/0")
