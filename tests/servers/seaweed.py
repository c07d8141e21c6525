"""SeaweedFS: a real S3 server, whose conditional writes are right.

Its listing is not in order of bytes where "/" meets lower bytes, and many writers of one key are served slowly.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from servers import child, ports
from servers.server import ADMIN, READER, USER, Server, admin_client

TRIES = 3


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    (folder / "data").mkdir()
    config = folder / "s3.json"
    config.write_text(json.dumps(_identities()))
    for left in reversed(range(TRIES)):
        numbers = ports.free_with_grpc(4)
        server = Server("seaweed", f"http://127.0.0.1:{numbers[0]}")
        try:
            with child.running(_command(folder, config, numbers), folder / "log", _environment()) as process:
                child.wait_ready(process, partial(_write, server.endpoint))
                yield server
                return
        except child.NotReady:  # another program may have taken a port meanwhile
            if not left:
                raise
        finally:
            _remove_sockets(numbers)


def _command(folder: Path, config: Path, numbers: list[int]) -> list[str]:
    s3, master, volume, filer = numbers
    return [
        child.program("weed"),
        "-logtostderr=true",
        "server",
        f"-dir={folder / 'data'}",
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
        "-s3",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        f"-s3.port={s3}",
        f"-s3.config={config}",
        f"-master.port={master}",
        f"-volume.port={volume}",
        f"-filer.port={filer}",
        "-master.telemetry=false",
        "-master.electionTimeout=1s",
        "-master.heartbeatInterval=100ms",
        "-master.volumeSizeLimitMB=64",
        "-volume.max=10000",
    ]


def _environment() -> dict[str, str]:
    """One volume for each bucket, not seven: there are many small ones."""
    return {**os.environ, "WEED_MASTER_VOLUME_GROWTH_COPY_1": "1"}


def _identities() -> dict[str, object]:
    rights = {ADMIN: ["Admin", "Read", "Write", "List"], USER: ["Read", "Write", "List"], READER: ["Read", "List"]}
    return {
        "identities": [
            {"name": key, "credentials": [{"accessKey": key, "secretKey": secret}], "actions": actions}
            for (key, secret), actions in rights.items()
        ]
    }


def _write(endpoint: str) -> None:
    client = admin_client(endpoint, timeout_seconds=10.0)
    client.create_bucket(Bucket="ready")
    client.put_object(Bucket="ready", Key="ready", Body=b"ready")


def _remove_sockets(numbers: list[int]) -> None:
    for number in (*numbers, *(number + ports.GRPC for number in numbers)):
        for path in Path("/tmp").glob(f"seaweedfs-*-{number}.sock"):
            with suppress(OSError):
                path.unlink()
