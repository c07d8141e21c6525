"""An S3 server that runs: where it is, who may use it, and fresh buckets on it.

`access_key` may read and write but not make buckets, so that a bucket that is not there stays so (SeaweedFS makes
one for whoever may). `READER` may only read. moto asks nobody for a key.
"""

import os
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

REGION = "us-east-1"
ADMIN = ("AKADMIN", "admin-s3cr3t")
USER = ("AKUSER", "user-s3cr3t")
READER = ("AKREADER", "reader-s3cr3t")


@dataclass(frozen=True)
class Server:
    kind: str
    endpoint: str
    folder: str = ""  # rclone only: its buckets are the folders in it
    access_key: str = USER[0]
    secret_key: str = USER[1]
    region: str = REGION

    def bucket(self) -> str:
        """A bucket that nobody else uses."""
        name = f"test-{uuid4().hex[:16]}"
        if self.folder:
            os.mkdir(Path(self.folder, name))
        else:
            admin_client(self.endpoint).create_bucket(Bucket=name)
        return name

    def url(self, bucket: str, prefix: str = "queues/test", *, endpoint: str = "", **settings: object) -> str:
        """A queue's URL. `endpoint`: of a proxy before this server."""
        given = {
            "endpoint": endpoint or self.endpoint,
            "region": self.region,
            "access_key": self.access_key,
            "secret_key": self.secret_key,
            **settings,
        }
        query = "&".join(f"{name}={quote(str(value), safe=':/')}" for name, value in given.items())
        return f"s3://{bucket}/{prefix}?{query}"

    @property
    def environment(self) -> dict[str, str]:
        """What a program that reads the usual AWS variables needs."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": self.region,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def store(self, bucket: str, *, endpoint: str = "", timeout_seconds: float = 60.0) -> Any:
        """obstore's own client, without retries."""
        from obstore.store import S3Store

        timeout = timedelta(seconds=timeout_seconds)
        return S3Store(
            bucket,
            endpoint=endpoint or self.endpoint,
            region=self.region,
            access_key_id=self.access_key,
            secret_access_key=self.secret_key,
            client_options={"timeout": timeout, "connect_timeout": timeout, "allow_http": True},
            retry_config={"max_retries": 0, "retry_timeout": timeout},
        )

    def values(self) -> dict[str, str]:
        return asdict(self)


def admin_client(endpoint: str, timeout_seconds: float = 60.0) -> Any:
    import boto3
    from botocore.config import Config

    once = Config(
        retries={"total_max_attempts": 1},
        connect_timeout=timeout_seconds,
        read_timeout=timeout_seconds,
        s3={"addressing_style": "path"},
    )
    return boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name=REGION,
        aws_access_key_id=ADMIN[0],
        aws_secret_access_key=ADMIN[1],
        config=once,
    )
