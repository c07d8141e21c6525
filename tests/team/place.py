"""A remote and clones for tests of one step at a time. Time passes only when a test says so, in each clone apart."""

import json
import re
from pathlib import Path
from typing import Any

import dibs
from dibs.host import Host, this_host
from dibs.queues.specs import SpecsQueue
from dibs.testing import ManualClock
from git.clones import SPECS, Team, git, state

STALE = 100.0


class Member:
    """One clone, and the queue that is opened in it."""

    def __init__(self, path: Path, mode: str, more: str = "") -> None:
        self.path = path
        self.mode = mode
        self.url = f"specs:{path}/{SPECS}?git={mode}&stale={STALE:g}{more}"
        self.clock = ManualClock()
        self.queue = self.open()

    def open(self, **options: Any) -> SpecsQueue:
        name = self.path.name
        host = Host(name, f"machine of {name}", f"boot of {name}", this_host().space)
        queue = dibs.open(self.url, **{"host": host, "clock": self.clock, **options})
        assert isinstance(queue, SpecsQueue)
        return queue

    def take(self, spec: str | None = None, ttl: float = 30.0) -> "dibs.Lease":
        lease = self.queue.claim(ttl=ttl)
        assert lease is not None and spec in (None, lease.id), lease
        return lease

    def locks(self) -> list[str]:
        return sorted(path.name for path in (self.path / ".dibs" / ".locks").glob("*.pid"))

    def text(self, spec: str) -> str:
        return (self.path / SPECS / f"{spec}.md").read_text()

    def status(self, spec: str) -> str:
        return status(self.text(spec))

    def users(self) -> dict[str, object]:
        """All in the clone that is the user's."""
        found = state(self.path)
        return {name: value for name, value in found.items() if "/.dibs/.locks/" not in name}


class Place(Team):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.start()

    def member(self, name: str, mode: str, more: str = "") -> Member:
        return Member(self.clone(name), mode, more)

    def on_branch(self, spec: str, branch: str = "main") -> str:
        return git(self.remote, "show", f"{branch}:{SPECS}/{spec}.md")

    def log(self, branch: str = "main") -> list[str]:
        return git(self.remote, "log", "--format=%s", branch).splitlines()

    def cell(self, spec: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(git(self.remote, "log", "-1", "--format=%s", f"refs/dibs/cells/{spec}"))
        return found

    def leases(self, spec: str) -> list[str]:
        return [ref.rpartition("/")[2] for ref in self.refs() if ref.startswith(f"refs/dibs/leases/{spec}/")]

    def status(self, spec: str, mode: str) -> str:
        return status(self.on_branch(spec)) if mode == "push" else str(self.cell(spec)["state"])


def status(text: str) -> str:
    found = re.search(r"^status: (\w+)$", text, re.M)
    return found[1] if found else ""
