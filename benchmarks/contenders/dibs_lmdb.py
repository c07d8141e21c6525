"""dibs in LMDB: one task at a time, the next claim together with the completion, and in batches of 100."""

import json
from collections.abc import Iterator
from typing import Any

from benchmarks.contenders.contender import Contender


class DibsLmdb(Contender):
    kind = "dibs"
    module = "lmdb"

    def __init__(self, batch: int = 1, sync: bool = False, chained: bool = False) -> None:
        self.batch = batch
        self.sync = sync
        self.chained = chained
        self.name = "dibs lmdb:" + (
            f", batches of {batch}" if batch > 1 else ", claim with complete" if chained else ""
        )
        self.drain_durability = "data synced, at most the last step is undone" if sync else "not synced"

    def fill(self, folder: str, payloads: list[bytes]) -> None:
        import dibs

        with dibs.open(f"lmdb:{folder}/queue?sync=off") as queue:
            queue.push_many(json.loads(data) for data in payloads)

    def open(self, folder: str, rank: int = 0, ranks: int = 1) -> Any:
        import dibs

        return dibs.open(f"lmdb:{folder}/queue?sync={'on' if self.sync else 'off'}")

    def drain(self, handle: Any) -> Iterator[Any]:
        if self.batch > 1:
            leases = handle.claim_many(self.batch)
            while leases:
                done, leases = leases, handle.complete_and_claim_many(leases, self.batch)
                if lost := [lease for lease in done if lease.state == "lost"]:
                    raise RuntimeError(f"{len(lost)} leases lost")
                for lease in done:
                    yield lease.payload
                leases = leases or handle.claim_many(self.batch)
            return
        lease = handle.claim()
        while lease is not None:
            document = lease.payload
            if self.chained:
                lease = handle.complete_and_claim(lease)
            else:
                lease.complete()
            yield document
            if not self.chained:
                lease = handle.claim()
