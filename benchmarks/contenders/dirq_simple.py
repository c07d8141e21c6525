"""dirq: QueueSimple, a directory queue that locks by hard links. It has no sync of any kind."""

from collections.abc import Iterator
from typing import Any

from benchmarks.contenders.contender import Contender


class Dirq(Contender):
    name = "dirq"
    module = "dirq"
    drain_durability = "not synced"
    push_durability = "not synced"
    note = "no expiry: a dead holder's lock stays until `purge`; an element done is gone"

    def fill(self, folder: str, payloads: list[bytes]) -> None:
        self.push(self.open(folder), payloads)

    def open(self, folder: str, rank: int = 0, ranks: int = 1) -> Any:
        from dirq.QueueSimple import QueueSimple

        return QueueSimple(folder)

    def drain(self, handle: Any) -> Iterator[bytes]:
        for name in handle:
            if not handle.lock(name):
                continue
            data = handle.get(name)
            handle.remove(name)
            yield data

    def push(self, handle: Any, payloads: list[bytes]) -> None:
        for data in payloads:
            handle.add(data)
