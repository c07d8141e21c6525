"""Lock files for people and other tools: what ours say at the top, and how long somebody else's count.

A lock of another make is a number (a pid) or JSON with `pid`, `hostname` and perhaps `process_start`. On this host it
counts while that process runs, a pid that was given to another process apart; from another host, or without a
pid, until it has not changed for the `stale` time by the file server's clock.
"""

import os
from typing import Any

from dibs.clock import iso
from dibs.errors import BadInput
from dibs.host import Host, this_host
from dibs.lease import Leases
from dibs.liveness import Holder, Verdict, Watch
from dibs.queues.lockfiles.recovery import Expiry, Read, Recovery
from dibs.queues.specs.standing import user
from dibs.specs.view import LOCK
from dibs.stores.files import FileStore
from dibs.task import decode


def described(holder: Holder) -> dict[str, Any]:
    return {
        "pid": holder.pid,
        "process_start": holder.start,
        "hostname": holder.host,
        "user": user(),
        "started": iso(holder.since),
    }


class LockRecovery(Recovery):
    def __init__(
        self, store: FileStore, leases: Leases, watch: Watch, steps: Expiry, *, host: Host, stale: float
    ) -> None:
        super().__init__(store, leases, watch, steps, LOCK)
        self._host = host
        self._stale = stale

    def _judge_foreign(self, key: str, read: Read) -> Verdict:
        pid, hostname, start = self._owner(key)
        if pid is not None and (not hostname or self._is_here(hostname)):
            if self._host.process_gone(pid, start):
                return Verdict.DEAD
            if hostname:
                return Verdict.ALIVE
        age = self._store.now() - read.mtime / 1e9
        return Verdict.SILENT if age > self._stale else Verdict.ALIVE

    def _is_here(self, hostname: str) -> bool:
        """By the name that we write, or the one that the system gives."""
        return hostname == self._host.name or (self._host is this_host() and hostname == os.uname().nodename)

    def _owner(self, key: str) -> tuple[int | None, str, str]:
        entry = self._store.get(key)
        try:
            body = decode(entry.data) if entry else None
        except BadInput:
            body = None
        if isinstance(body, int):
            body = {"pid": body}
        if not isinstance(body, dict):
            return None, "", ""
        pid = body.get("pid")
        sure = isinstance(pid, int) and not isinstance(pid, bool) and 0 < pid < 2**31
        return pid if sure else None, str(body.get("hostname") or ""), str(body.get("process_start") or "")
