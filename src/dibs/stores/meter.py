"""What is asked of a store, by kind, and what it costs where requests cost money."""

from collections import Counter
from threading import Lock

KINDS = ("put", "get", "list", "delete")
#: Dollars for a million requests: Amazon S3 Standard, us-east-1. Others charge about the same, in the same proportions.
PRICES = {"put": 5.0, "get": 0.4, "list": 5.0, "delete": 0.0}


class Meter:
    """Safe for threads."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._lock = Lock()

    def add(self, kind: str, count: int = 1) -> None:
        with self._lock:
            self._counts[kind] += count

    @property
    def counts(self) -> dict[str, int]:
        with self._lock:
            return {kind: self._counts[kind] for kind in KINDS}

    @property
    def total(self) -> int:
        """Requests that cost something: deletes are free."""
        return sum(count for kind, count in self.counts.items() if PRICES[kind])

    @property
    def dollars(self) -> float:
        return dollars(self.counts)


def dollars(counts: dict[str, int]) -> float:
    return sum(count * PRICES[kind] for kind, count in counts.items()) / 1e6
