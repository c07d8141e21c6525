"""The floor of an embedded queue: tasks written straight into LMDB, without leases, expiry or records of what is done.

A claim takes the first key that is ready and puts it among those that are held; a completion deletes it.
"""

from collections.abc import Iterator
from typing import Any

from benchmarks.contenders.contender import Contender

READY, HELD, PAYLOAD = b"a", b"b", b"c"
SIZE = 1 << 28


class RawLmdb(Contender):
    kind = "floor"
    module = "lmdb"

    def __init__(self, batch: int = 1, sync: bool = False) -> None:
        self.batch = batch
        self.sync = sync
        self.name = "LMDB" + (f", batches of {batch}" if batch > 1 else "")
        self.drain_durability = "synced" if sync else "not synced"

    def fill(self, folder: str, payloads: list[bytes]) -> None:
        with self._open(folder, sync=False) as env, env.begin(write=True) as txn:
            for number, data in enumerate(payloads):
                key = number.to_bytes(8)
                txn.put(READY + key, b"")
                txn.put(PAYLOAD + key, data)

    def open(self, folder: str, rank: int = 0, ranks: int = 1) -> Any:
        return self._open(folder, sync=self.sync)

    def _open(self, folder: str, *, sync: bool) -> Any:
        import lmdb

        return lmdb.open(f"{folder}/raw", map_size=SIZE, sync=sync, writemap=True)

    def drain(self, handle: Any) -> Iterator[bytes]:
        while True:
            with handle.begin(write=True) as txn, txn.cursor() as cursor:
                taken = []
                cursor.set_range(READY)
                while len(taken) < self.batch and cursor.key()[:1] == READY:
                    key = cursor.key()[1:]
                    cursor.delete()
                    taken.append((key, txn.get(PAYLOAD + key)))
                for key, _ in taken:
                    txn.put(HELD + key, b"")
            if not taken:
                return
            with handle.begin(write=True) as txn:
                for key, _ in taken:
                    txn.delete(HELD + key)
                    txn.delete(PAYLOAD + key)
            for _, data in taken:
                yield data
