"""A queue in memory that finds its tasks in one of the ways that a bucket has."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from dibs.queues.memory import MemoryQueue
from dibs.queues.objects.discovery.choice import Choice
from dibs.queues.objects.discovery.making import make_discovery
from dibs.queues.stored.discovery import Discovery
from dibs.stores.memory import MemoryStore
from dibs.stores.store import Entry


class ByNames(MemoryQueue):
    def __init__(
        self,
        url: str,
        store: MemoryStore,
        *,
        discover: Choice,
        fresh: float = 0.25,
        relist: float = 0.25,
        idle: float = 0.0,
        **options: Any,
    ) -> None:
        self._settings: dict[str, Any] = {"fresh": fresh, "relist": relist, "idle": idle}
        self._discover = discover
        super().__init__(url, store, **options)

    def _make_discovery(self) -> Discovery:
        return make_discovery(
            self._discover,
            address=self.address,
            store=self._store,
            clock=self.clock,
            rng=self.rng,
            host=self.host,
            facet=self._facets.get,
            held=self._upkeep.watches,
            **self._settings,
        )

    def _wait(self, seconds: float) -> None:
        self._discovery.forget()
        self._discovery.wait(seconds)

    def close(self) -> None:
        super().close()
        self._discovery.close()


class Counting(MemoryStore):
    """Counts what a bucket would be asked: a listing for each thousand names."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.asked: Counter[str] = Counter()

    def get(self, key: str) -> Entry | None:
        self.asked["get"] += 1
        return super().get(key)

    def create(self, key: str, data: bytes) -> str:
        self.asked["put"] += 1
        return super().create(key, data)

    def replace(self, key: str, data: bytes, version: str) -> str:
        self.asked["put"] += 1
        return super().replace(key, data, version)

    def list(self, prefix: str, start_after: str = "") -> Iterator[str]:
        for number, key in enumerate(super().list(prefix, start_after)):
            if number % 1000 == 0:
                self.asked["list"] += 1
            yield key

    def folders(self, prefix: str) -> Iterator[str]:
        self.asked["list"] += 1
        return super().folders(prefix)
