"""Giving back what holders held that are gone.

A lease file is read again only when it has changed. One that is empty (its creator died, or a power cut took its
content) or that is of somebody else's make and has not changed for long is removed.
"""

import os
from contextlib import suppress
from typing import NamedTuple, Protocol

from dibs.errors import BadInput, StorageError
from dibs.lease import Leases, Seen, seen
from dibs.liveness import Verdict, Watch
from dibs.stores.files import HOLLOW_SECONDS, FileStore, version_of
from dibs.stores.refusal import storage_error
from dibs.stores.store import Changed


class Read(NamedTuple):
    inode: int
    mtime: int
    found: Seen | None  # None: empty or foreign
    version: str


class Expiry(Protocol):
    def expire(self, task_id: str, seen: Seen, verdict: Verdict) -> bool: ...


class Recovery:
    """`suffix` is what the names of lease files end in."""

    def __init__(self, store: FileStore, leases: Leases, watch: Watch, steps: Expiry, suffix: str) -> None:
        self._store = store
        self._leases = leases
        self._watch = watch
        self._steps = steps
        self._suffix = suffix
        self._known: dict[str, Read] = {}

    def held(self) -> set[str]:
        """The record names of all leases there are."""
        cut = -len(self._suffix)
        return {name[:cut] for name in self._store.names("") if name.endswith(self._suffix)}

    def run(self) -> bool:
        """True when something may have become ready."""
        keys = [name + self._suffix for name in self.held()]
        self._known = {key: read for key in keys if (read := self._read(key))}
        holders = [holder for read in self._known.values() if read.found and (holder := read.found.record.holder)]
        self._watch.forget_others([*keys, *(holder.session for holder in holders)])
        boots = {(holder.machine, holder.boot) for holder in holders}
        changed = False
        for key, read in self._known.items():
            try:
                changed |= self._recover(key, read, boots)
            except StorageError:
                continue  # somebody is at it, or was stopped there, or it is not ours to change: only this task waits
        return changed

    def _recover(self, key: str, read: Read, boots: set[tuple[str, str]]) -> bool:
        task_id = read.found.record.data.get("task") if read.found else None
        if read.found is not None and isinstance(task_id, str):
            verdict = self._leases.judge(key, read.found, boots)
            return verdict is not Verdict.ALIVE and self._steps.expire(task_id, read.found, verdict)
        hollow = read.version == version_of(b"") and self._store.now() - read.mtime / 1e9 > HOLLOW_SECONDS
        if not hollow and self._judge_foreign(key, read) is Verdict.ALIVE:
            return False
        with suppress(Changed):
            self._store.delete_if(key, read.version)
        return True

    def _judge_foreign(self, key: str, read: Read) -> Verdict:
        return self._leases.judge_unknown(key, read.version)

    def _read(self, key: str) -> Read | None:
        try:
            there = os.stat(f"{self._store.root}/{key}")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise storage_error(error, self._store.root) from error
        known = self._known.get(key)
        same = known is not None and (known.inode, known.mtime) == (there.st_ino, there.st_mtime_ns)
        if same and not self._store.in_place:  # there two changes may be of one moment
            return known
        try:
            entry = self._store.get(key)
        except StorageError:
            return None  # not for us to read
        found = None
        if entry is not None:
            with suppress(BadInput):
                found = seen(entry)
        version = entry.version if entry else version_of(b"")
        return Read(there.st_ino, there.st_mtime_ns, found, version)
