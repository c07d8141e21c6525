"""Specs that have ended on the remote and whose files, in this clone, do not say so yet.

Marked before the remote is told and unmarked when the file is written, so that what a process left undone when it died
is done by the next one here; and nothing else is: a file that says otherwise because another branch is checked out
stays.
"""

import os
from contextlib import suppress

from dibs.errors import BadInput
from dibs.host import Host
from dibs.stores.files import FileStore
from dibs.task import decode, encode

FOLDER = "untold"


class Untold:
    def __init__(self, store: FileStore, host: Host) -> None:
        self._store = store
        self._host = host

    def mark(self, task_id: str) -> None:
        pid = os.getpid()
        by = {"boot": self._host.boot, "pid": pid, "start": self._host.started(pid)}
        self._store.put(f"{FOLDER}/{task_id}", encode(by))

    def told(self, task_id: str) -> None:
        self._store.delete(f"{FOLDER}/{task_id}")

    def left(self) -> list[str]:
        """What was marked by processes that are gone."""
        names = [name for name in self._store.names(f"{FOLDER}/") if not name.endswith("/")]
        return [name for name in names if not self._is_telling(name)]

    def _is_telling(self, name: str) -> bool:
        entry = self._store.get(f"{FOLDER}/{name}")
        with suppress(BadInput, KeyError, TypeError, ValueError):
            by = decode(entry.data) if entry else None
            if by is not None and by["boot"] == self._host.boot:
                return not self._host.process_gone(int(by["pid"]), str(by["start"]))
        return False
