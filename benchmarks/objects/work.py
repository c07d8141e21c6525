"""Drain of a bucket by `dibs work --call` with threads, timed from the first task run to the last."""

import os
import subprocess
import tempfile
from typing import Any
from uuid import uuid4

from benchmarks.brokers import notes
from benchmarks.brokers.drain import end, trouble
from benchmarks.brokers.noop import FOLDER
from benchmarks.children import environment, script

NAME = "dibs work --call"
CALL = "benchmarks.brokers.noop:run"
DEADLINE_SECONDS = 180


def drain(server: Any, bucket: str, folder: str, documents: list[dict[str, Any]], jobs: int) -> notes.Ran:
    """Filled first, untimed. The keys come from the environment, as they would."""
    import dibs

    prefix = f"queues/{uuid4().hex}"
    with dibs.open(server.url(bucket, prefix)) as queue:
        queue.push_many(documents)
    path = tempfile.mkdtemp(prefix="work-", dir=os.path.abspath(folder))
    noted, log = os.path.join(path, "notes"), os.path.join(path, "log")
    notes.prepare(noted, len(documents))
    url = f"s3://{bucket}/{prefix}"
    command = [script("dibs"), "work", url, "-j", str(jobs), "--pool", "thread", "--call", CALL, "--until-empty"]
    with open(log, "wb") as output:
        worker = subprocess.Popen(
            command,
            env=environment(**{FOLDER: noted}, **server.environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        return notes.wait(noted, len(documents), lambda: trouble([worker], log), DEADLINE_SECONDS)
    finally:
        end(worker)
