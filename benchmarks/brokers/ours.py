"""dibs, drained by `dibs work`: on files, and on the Redis server that the others use."""

from typing import Any

from benchmarks.brokers.broker import Broker, Task
from benchmarks.children import script


class _Dibs(Broker):
    ours = True
    batches = "push_many"

    def missing(self) -> str | None:
        try:
            import dibs.worker  # noqa: F401
        except ImportError as error:
            return f"dibs cannot be imported: {error}"
        return super().missing()

    def url(self, place: str) -> str:
        raise NotImplementedError

    def open(self, place: str) -> Any:
        import dibs

        return dibs.open(self.url(place))

    def push(self, handle: Any, tasks: list[Task]) -> None:
        for task in tasks:
            handle.push(task)

    def push_batch(self, handle: Any, tasks: list[Task]) -> None:
        handle.push_many(tasks)

    def commands(self, place: str, processes: int) -> list[list[str]]:
        words = ["--call", "benchmarks.brokers.noop:run", *self.more, *self.until]
        return [[script("dibs"), "work", self.url(place), "-j", str(processes), *words]]

    more: tuple[str, ...] = ()

    until: tuple[str, ...] = ("--until-empty",)


class DibsOnFiles(_Dibs):
    name = "dibs work --call"
    on_redis = False
    note = "on files, without a server, sync=off; the others are on Redis"

    def url(self, place: str) -> str:
        return f"file:{place}?sync=off"


class DibsOnRedis(_Dibs):
    name = "dibs work --call, on Redis"
    module = "redis"
    more = ("--batch", "100")
    note = "--batch 100"

    def url(self, place: str) -> str:
        return redis_queue(place)


def redis_queue(server: str, name: str = "bench") -> str:
    """warn=off: that nothing is kept on disk is meant so here."""
    return f"{server}?queue={name}&warn=off"
