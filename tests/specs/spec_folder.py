"""A folder of specs that is a queue, for the tests of `specs:`."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import dibs
from dibs.host import Host
from dibs.queues.held import Lease
from dibs.queues.specs import SpecsQueue
from waiting import PATIENCE

PENDING = "---\nstatus: pending\n---\n# Title\n"
ELSEWHERE = Host(name="elsewhere", machine="machine-2", boot="boot-2", space="space-2")
HOLD_AND_DIE = "import os, sys, dibs; dibs.open(sys.argv[1]).claim(ttl=600); os._exit(0)"


class Folder:
    """The specs, their locks, and the queue that they are."""

    def __init__(self, root: Path, place: str = ".dibs/specs") -> None:
        self.root = root
        self.specs = root / place
        self.locks = self.specs.parent / ".locks"
        self.url = f"specs:{self.specs}"
        self.specs.mkdir(parents=True)

    def add(self, name: str, data: str | bytes = PENDING) -> Path:
        path = self.path(name)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    def path(self, name: str) -> Path:
        return self.specs / f"{name}.md"

    def lock(self, name: str) -> Path:
        return self.locks / f"{name}.pid"

    def put_lock(self, name: str, content: str, age: float = 0.0) -> Path:
        """One that another tool has made, so many seconds ago."""
        self.locks.mkdir(exist_ok=True)
        path = self.lock(name)
        path.write_text(content)
        then = time.time() - age
        os.utime(path, (then, then))
        return path

    def open(self, query: str = "", **options: Any) -> SpecsQueue:
        queue = dibs.open(self.url + query, **options)
        assert isinstance(queue, SpecsQueue)
        return queue

    def claim_and_die(self) -> None:
        """A process takes what is ready for ten minutes and is gone."""
        subprocess.run([sys.executable, "-c", HOLD_AND_DIE, self.url], check=True, timeout=PATIENCE)

    def set_status(self, name: str, status: str) -> None:
        """By hand."""
        lines = self.path(name).read_text().split("\n")
        (at,) = [number for number, line in enumerate(lines) if line.startswith("status:")]
        lines[at] = f"status: {status}"
        self.path(name).write_text("\n".join(lines))

    def record(self, name: str) -> dict[str, Any]:
        """What a lock file says."""
        found = json.loads(self.lock(name).read_text())
        assert isinstance(found, dict)
        return found

    def left_locks(self) -> list[str]:
        return sorted(path.name for path in self.locks.glob("*.pid"))


def taken(queue: SpecsQueue) -> Lease:
    lease = queue.claim(ttl=600)
    assert lease is not None
    return lease


def all_taken(queue: SpecsQueue) -> set[str]:
    return {lease.id for lease in queue.claim_many(100, ttl=600)}
