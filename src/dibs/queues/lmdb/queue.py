"""The stored queue in LMDB: what one call does is one transaction, and so one sync; a batch too."""

import os
from collections.abc import Iterable
from typing import Any

from dibs.clock import SYSTEM, Clock
from dibs.errors import BadInput, FormatError
from dibs.facets import Filter
from dibs.queues.held import Lease
from dibs.queues.stored import StoredQueue
from dibs.states import State
from dibs.stores.lmdb import LmdbStore
from dibs.stores.lmdb_environment import FIRST_MAP, is_there
from dibs.task import Task

SETTINGS = ("sync", "retention", "map")


class LmdbQueue(StoredQueue):
    fresh_seconds = 0.25
    upkeep_seconds = 0.25
    asking_is_cheap = True
    idle_seconds = 0.2
    _store: LmdbStore

    @classmethod
    def open(
        cls,
        url: str,
        path: str,
        settings: dict[str, str],
        *,
        clock: Clock = SYSTEM,
        create: bool = True,
        **options: Any,
    ) -> "LmdbQueue":
        unknown = sorted(set(settings) - set(SETTINGS))
        if unknown:
            raise BadInput(f"setting {unknown[0]!r} in {url!r} is not known; known: {', '.join(SETTINGS)}")
        folder = path.removeprefix("//")
        if not folder:
            raise BadInput(f"{url!r} names no folder; write lmdb:FOLDER")
        sync = settings.get("sync", "on")
        if sync not in ("on", "off"):
            raise BadInput(f"sync={sync} in {url!r} is not acceptable; use on or off")
        try:
            retention = float(settings["retention"]) if "retention" in settings else None
            map_bytes = int(settings.get("map", FIRST_MAP))
        except ValueError as error:
            raise BadInput(f"{url!r}: {error}; retention is in seconds, map in bytes") from None
        if not create and not is_there(folder):
            raise FormatError(f"no queue at {url}; `dibs push {url} …` creates one")
        store = LmdbStore(folder, clock=clock, sync=sync == "on", map_bytes=map_bytes)
        return cls(url, store, retention=retention, create=create, clock=clock, **options)

    @property
    def address(self) -> str:
        return f"lmdb:{os.path.realpath(self._store.folder)}"

    def _insert(self, tasks: list[Task]) -> list[Task]:
        with self._store.together():
            return super()._insert(tasks)

    def _take(self, limit: int, ttl: float, wanted: Filter) -> list[Lease]:
        with self._store.together():
            return super()._take(limit, ttl, wanted)

    def renew(self, lease: Lease) -> None:
        with self._store.together():
            super().renew(lease)

    def complete(self, lease: Lease, result: Any = None) -> None:
        with self._store.together():
            super().complete(lease, result)

    def complete_many(self, leases: Iterable[Lease]) -> list[Lease]:
        with self._store.together():
            return super().complete_many(leases)

    def release(self, lease: Lease, delay: float = 0.0) -> None:
        with self._store.together():
            super().release(lease, delay)

    def fail(self, lease: Lease, error: str, *, retry: bool = True) -> None:
        with self._store.together():
            super().fail(lease, error, retry=retry)

    def beat(self, handle: str) -> float | None:
        with self._store.together():
            return super().beat(handle)

    def end(self, handle: str) -> None:
        with self._store.together():
            super().end(handle)

    def cancel(self, ref: str) -> Task:
        with self._store.together():
            return super().cancel(ref)

    def retry(self, ref: str) -> Task:
        with self._store.together():
            return super().retry(ref)

    def purge(self, state: State | str = State.COMPLETED, *, older_than: float = 3600.0) -> int:
        with self._store.together():
            return super().purge(state, older_than=older_than)

    def close(self) -> None:
        super().close()
        self._store.close()
