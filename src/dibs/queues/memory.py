"""Queues in this process's memory: `memory:` is a new one, `memory:NAME` one that the whole process shares.

Everything but the process works as on disk, threads included; all is gone when the process ends.
"""

import threading
from typing import Any

from dibs.clock import SYSTEM
from dibs.errors import BadInput
from dibs.queues.held import Lease
from dibs.queues.stored import StoredQueue
from dibs.queues.views import Capabilities
from dibs.stores.memory import MemoryStore

SETTINGS = ("retention",)
_stores: dict[str, MemoryStore] = {}
_stores_lock = threading.Lock()


class MemoryQueue(StoredQueue):
    capabilities = Capabilities(processes=False)
    fresh_seconds = 0.25
    upkeep_seconds = 0.02
    asking_is_cheap = True
    idle_seconds = 0.05

    @classmethod
    def open(cls, url: str, path: str, settings: dict[str, str], **options: Any) -> "MemoryQueue":
        unknown = sorted(set(settings) - set(SETTINGS))
        if unknown:
            raise BadInput(f"setting {unknown[0]!r} in {url!r} is not known; known: {', '.join(SETTINGS)}")
        try:
            retention = float(settings["retention"]) if "retention" in settings else None
        except ValueError as error:
            raise BadInput(f"{url!r}: {error}; retention is a number of seconds") from None
        with _stores_lock:
            store = _stores.get(path) if path else None
            if store is None:
                store = MemoryStore(options.get("clock", SYSTEM))
                if path:
                    _stores[path] = store
        return cls(url, store, retention=retention, **options)

    @property
    def address(self) -> str:
        return f"memory:{id(self._store):x}"

    def keep(self, lease: Lease) -> None:
        if self._heart is None:
            self._heart = Heart(self)
        self._heart.hold(lease)


class Heart:
    """Renews leases from a thread: no other process could reach them. A task that never lets go of the
    interpreter lock starves it, and loses its lease."""

    def __init__(self, queue: MemoryQueue) -> None:
        self._queue = queue
        self._leases: dict[str, Lease] = {}
        self._changed = threading.Condition()
        self._over = False
        threading.Thread(target=self._run, daemon=True, name="dibs-heart").start()

    def hold(self, lease: Lease) -> None:
        with self._changed:
            self._leases[lease.id] = lease
            self._changed.notify()

    def drop(self, lease: Lease) -> None:
        with self._changed:
            self._leases.pop(lease.id, None)

    def stop(self) -> None:
        with self._changed:
            self._over = True
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._over:
                    return
                held = list(self._leases.values())
                if not held:
                    self._changed.wait()
                    continue
            for lease in held:
                if lease.token.renew():
                    lease.deadline = lease.token.deadline
                else:
                    self.drop(lease)
            with self._changed:
                if not self._over:
                    self._changed.wait(min(lease.ttl for lease in held) / 3)
