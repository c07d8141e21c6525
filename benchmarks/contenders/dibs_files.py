"""dibs on files: one task at a time, and in batches of 100."""

import json
from collections.abc import Iterator
from typing import Any

from benchmarks.contenders.contender import Contender

BATCH = 100


class Dibs(Contender):
    kind = "dibs"
    drain_durability = "not synced (after a power cut a task may run again, none is lost)"

    def __init__(self, batch: int = 1, sync: bool = True) -> None:
        self.batch = batch
        self.sync = sync
        self.name = "dibs" if batch == 1 else f"dibs, batches of {batch}"
        if not sync:
            self.name += ", sync=off"
        self.push_durability = "file and folder synced" if sync else "not synced"

    def missing(self) -> str | None:
        try:
            import dibs.queues.files  # noqa: F401
        except ImportError as error:
            return f"dibs cannot be imported: {error}"
        return None

    def _open(self, folder: str) -> Any:
        import dibs

        return dibs.open(f"file:{folder}" if self.sync else f"file:{folder}?sync=off")

    def fill(self, folder: str, payloads: list[bytes]) -> None:
        import dibs

        with dibs.open(f"file:{folder}?sync=off") as queue:
            queue.push_many(json.loads(data) for data in payloads)

    def open(self, folder: str, rank: int = 0, ranks: int = 1) -> Any:
        return self._open(folder)

    def drain(self, handle: Any) -> Iterator[Any]:
        if self.batch > 1:
            while leases := handle.claim_many(self.batch):
                lost = handle.complete_many(leases)
                if lost:
                    raise RuntimeError(f"{len(lost)} leases lost")
                for lease in leases:
                    yield lease.payload
            return
        while (lease := handle.claim()) is not None:
            document = lease.payload
            lease.complete()
            yield document

    def push(self, handle: Any, payloads: list[bytes]) -> None:
        if self.batch > 1:
            for start in range(0, len(payloads), self.batch):
                handle.push_many(json.loads(data) for data in payloads[start : start + self.batch])
            return
        for data in payloads:
            handle.push(json.loads(data))
