"""Locks of specs, looked for by name and read only where there is one."""

from collections.abc import Mapping

from dibs.clock import SYSTEM, Clock
from dibs.queues.lockfiles.naming import record_name
from dibs.queues.lockfiles.past import Past
from dibs.queues.specs.ledger import KEPT, Kept, LockLedger
from dibs.queues.specs.queue import SpecsQueue
from dibs.serve.cache.folders import KnownFolders
from dibs.specs.view import LOCK
from dibs.states import State
from dibs.stores.refusal import storage_error


class KnownLedger(LockLedger):
    def __init__(self, queue: SpecsQueue, clock: Clock = SYSTEM) -> None:
        ledger = queue._ledger
        assert isinstance(ledger, LockLedger)
        super().__init__(ledger._leases, ledger._pasts, ledger._held)
        self._folders = KnownFolders(clock)
        self._root = queue._store.root
        self._locked: Mapping[str, State] = {}
        self._seen: tuple[list[str], list[str]] | None = None

    def over(self) -> Mapping[str, State]:
        seen = self._list(f"{self._root}/{KEPT}"), self._list(self._root)
        if self._seen is None or seen[0] is not self._seen[0] or seen[1] is not self._seen[1]:
            self._names = {name[:-5] for name in seen[0] if name.endswith(".json")}
            cut = -len(LOCK)
            self._locked = {name[:cut]: State.CLAIMED for name in seen[1] if name.endswith(LOCK)}
            self._seen = seen
        return self._locked

    def glance(self, task_id: str) -> Kept:
        name = record_name(task_id)
        past = self._pasts.read(task_id) if name in self._names else Past()
        return Kept(past, *self._lease(task_id)) if task_id in self._locked else Kept(past)

    def _list(self, folder: str) -> list[str]:
        try:
            return self._folders.listdir(folder)
        except (FileNotFoundError, NotADirectoryError):
            return _NONE
        except OSError as error:
            raise storage_error(error, folder) from error


_NONE: list[str] = []
