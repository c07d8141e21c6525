"""An SQS server for tests: moto, in a thread of this process, on loopback.

moto gives one message to two receivers now and then, since it looks and marks without a lock. Here it looks and
marks under one, and a long poll waits outside of it.
"""

import logging
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from moto.server import ThreadedMotoServer
from moto.sqs.models import SQSBackend

REGION = "eu-west-1"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "s3cr3t-testing"}
_one_at_a_time = threading.Lock()
_receive = SQSBackend.receive_message


def _receive_alone(
    self: Any, queue_name: str, count: int, wait_seconds_timeout: int, visibility_timeout: int, names: Any = None
) -> Any:
    end = time.monotonic() + int(wait_seconds_timeout or 0)
    while True:
        with _one_at_a_time:
            found = _receive(self, queue_name, count, 0, visibility_timeout, names)
        if found or time.monotonic() >= end:
            return found
        time.sleep(0.02)


class Server:
    def __init__(self, endpoint: str, leases: Path) -> None:
        self.endpoint = endpoint
        self.leases = leases

    def url(self, name: str = "", **settings: object) -> str:
        """The URL of a queue that nobody else uses; a look takes no time unless `poll` says so."""
        more = {"region": REGION, "endpoint": self.endpoint, "leases": self.leases, "poll": 0, **settings}
        query = "&".join(f"{key}={value}" for key, value in more.items())
        return f"sqs://{name or f'q-{uuid4().hex[:12]}'}?{query}"

    def client(self) -> Any:
        import boto3

        return boto3.client("sqs", region_name=REGION, endpoint_url=self.endpoint)


@pytest.fixture(scope="session")
def sqs_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SQSBackend, "receive_message", _receive_alone)
        for name, value in CREDENTIALS.items():
            patch.setenv(name, value)
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        server.start()
        host, port = server.get_host_and_port()
        yield Server(f"http://{host}:{port}", tmp_path_factory.mktemp("leases", numbered=True))
        server.stop()
