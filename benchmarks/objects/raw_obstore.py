"""The floor on a bucket: obstore's put, put, get, put, under keys like those of dibs, and nothing of a queue.

Nothing is listed, no state can be looked up, nothing is ever deleted, and who has done what is not noted.
"""

import json
from typing import Any
from uuid import uuid4

from benchmarks.objects.contender import BucketContender, at_once

LEASE = json.dumps({"state": "claimed", "worker": "somebody", "expiry": 60.0}).encode()
DONE = json.dumps({"state": "completed", "worker": "somebody"}).encode()


class RawObstore(BucketContender):
    name = "obstore, put put get put"
    kind = "floor"

    def open(self, server: Any, bucket: str, prefix: str, concurrency: int) -> None:
        self._store = server.store(bucket)
        self._prefix = prefix
        self._concurrency = concurrency
        self._ids: list[str] = []
        self._sent = {"put": 0, "get": 0}

    def push(self, documents: list[dict[str, Any]]) -> None:
        import obstore

        def put(document: dict[str, Any]) -> str:
            name = uuid4().hex
            obstore.put(
                self._store, self._task(name), json.dumps(document).encode(), mode="create", use_multipart=False
            )
            return name

        self._ids = at_once(self._concurrency, put, documents)
        self._sent["put"] += len(documents)

    def drain(self, count: int) -> list[int]:
        import obstore

        def one(name: str) -> int:
            lease = f"{self._prefix}/tasks/{name[-2:]}/{name}"
            taken = obstore.put(self._store, lease, LEASE, mode="create", use_multipart=False)
            document = json.loads(bytes(obstore.get(self._store, self._task(name)).bytes()))
            obstore.put(self._store, lease, DONE, mode={"e_tag": taken["e_tag"]}, use_multipart=False)
            return int(document["n"])

        self._sent["put"] += 2 * count
        self._sent["get"] += count
        return at_once(self._concurrency, one, self._ids[:count])

    def _task(self, name: str) -> str:
        return f"{self._prefix}/pending/0050/{name[-2:]}/{name}.50.0"

    def requests(self) -> dict[str, int]:
        return dict(self._sent)
