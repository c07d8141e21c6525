"""The same protocol written plainly on boto3: one object a task, one for its lease, conditions on every write.

It lists page by page, claims with If-None-Match, reads, completes with If-Match. It has no renewal, no takeover, no
retries, no priorities, keeps no history, and leaves what is done among what is waiting.
"""

import json
from typing import Any
from uuid import uuid4

from benchmarks.objects.contender import BucketContender, at_once


class Boto3Plain(BucketContender):
    name = "boto3, the same protocol"

    def open(self, server: Any, bucket: str, prefix: str, concurrency: int) -> None:
        import boto3
        from botocore.config import Config

        self._client = boto3.client(
            "s3",
            endpoint_url=server.endpoint,
            region_name=server.region,
            aws_access_key_id=server.access_key,
            aws_secret_access_key=server.secret_key,
            config=Config(
                max_pool_connections=concurrency, s3={"addressing_style": "path"}, retries={"total_max_attempts": 1}
            ),
        )
        self._bucket = bucket
        self._prefix = prefix
        self._concurrency = concurrency
        self._done: set[str] = set()
        self._sent = {"put": 0, "get": 0, "list": 0}

    def push(self, documents: list[dict[str, Any]]) -> None:
        def put(document: dict[str, Any]) -> None:
            key = f"{self._prefix}/pending/{uuid4().hex}"
            self._client.put_object(Bucket=self._bucket, Key=key, Body=json.dumps(document).encode(), IfNoneMatch="*")

        at_once(self._concurrency, put, documents)
        self._sent["put"] += len(documents)

    def drain(self, count: int) -> list[int]:
        waiting: list[str] = []
        for page in self._client.get_paginator("list_objects_v2").paginate(
            Bucket=self._bucket, Prefix=f"{self._prefix}/pending/"
        ):
            self._sent["list"] += 1
            waiting += [found["Key"] for found in page.get("Contents", ()) if found["Key"] not in self._done]
        self._done.update(waiting)
        self._sent["put"] += 2 * count
        self._sent["get"] += count
        return at_once(self._concurrency, self._one, waiting[:count])

    def _one(self, key: str) -> int:
        lease = f"{self._prefix}/leases/{key.rpartition('/')[2]}"
        claimed = json.dumps({"state": "claimed", "worker": "somebody", "expiry": 60.0}).encode()
        taken = self._client.put_object(Bucket=self._bucket, Key=lease, Body=claimed, IfNoneMatch="*")
        document = json.loads(self._client.get_object(Bucket=self._bucket, Key=key)["Body"].read())
        done = json.dumps({"state": "completed", "worker": "somebody"}).encode()
        self._client.put_object(Bucket=self._bucket, Key=lease, Body=done, IfMatch=taken["ETag"])
        return int(document["n"])

    def requests(self) -> dict[str, int]:
        return dict(self._sent)
