"""rclone's S3: a store that is broken on purpose, for it ignores the conditions of a write. Buckets are folders."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from servers import child, ports
from servers.server import USER, Server


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    data = folder / "data"
    (data / "ready").mkdir(parents=True)
    address = f"127.0.0.1:{ports.free()}"
    command = [
        child.program("rclone"),
        "serve",
        "s3",
        f"--addr={address}",
        f"--auth-key={USER[0]},{USER[1]}",
        f"--config={folder / 'rclone.conf'}",
        f"--cache-dir={folder / 'cache'}",
        "--dir-cache-time=0s",
        str(data),
    ]
    server = Server("rclone", f"http://{address}", folder=str(data))
    with child.running(command, folder / "log", dict(os.environ)) as process:
        child.wait_ready(process, lambda: server.store("ready", timeout_seconds=10).put("ready", b"ready"))
        yield server
