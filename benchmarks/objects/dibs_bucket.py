"""dibs on a bucket: by so many threads of one process, and in batches of 100 by one thread."""

from typing import Any

from benchmarks.objects.contender import BucketContender, at_once

BATCH = 100
WAIT_SECONDS = 10.0


class DibsBucket(BucketContender):
    name = "dibs"
    kind = "dibs"

    def open(self, server: Any, bucket: str, prefix: str, concurrency: int) -> None:
        import dibs

        self._queue: Any = dibs.open(server.url(bucket, prefix))
        self._concurrency = concurrency

    def push(self, documents: list[dict[str, Any]]) -> None:
        at_once(self._concurrency, self._queue.push, documents)

    def drain(self, count: int) -> list[int]:
        return at_once(self._concurrency, self._one, range(count))

    def _one(self, _: int) -> int:
        lease = self._queue.claim(wait=WAIT_SECONDS)
        if lease is None:
            raise RuntimeError("nothing to claim, though not everything was drained")
        number = int(lease.payload["n"])
        lease.complete()
        return number

    def close(self) -> None:
        self._queue.close()

    def requests(self) -> dict[str, int]:
        counts: dict[str, int] = self._queue.meter.counts
        return counts


class DibsBatches(DibsBucket):
    name = f"dibs, batches of {BATCH}"

    def push(self, documents: list[dict[str, Any]]) -> None:
        self._queue.push_many(documents)

    def drain(self, count: int) -> list[int]:
        seen: list[int] = []
        while len(seen) < count:
            leases = self._queue.claim_many(min(BATCH, count - len(seen)))
            lost = self._queue.complete_many(leases)
            if lost or not leases:
                raise RuntimeError(f"{len(lost)} leases lost, {count - len(seen)} tasks not drained")
            seen += [int(lease.payload["n"]) for lease in leases]
        return seen
