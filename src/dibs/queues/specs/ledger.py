"""What is known of specs beside their files: who holds them, and how earlier leases ended.

`Ledger` is what the queue asks; `LockLedger` answers from the lock files of this machine.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from dibs.errors import BadInput
from dibs.lease import Leases, Record
from dibs.queues.lockfiles.naming import record_name
from dibs.queues.lockfiles.past import Past, Pasts
from dibs.specs.view import LOCK
from dibs.states import State

KEPT = "past"


class Kept(NamedTuple):
    past: Past = Past()
    lease: Record | None = None  # while it is held
    foreign: bool = False  # there is a lock, but none of ours


class Ledger(Protocol):
    def read(self, task_id: str) -> Kept:
        """As it is now."""
        ...

    def over(self) -> Mapping[str, State]:
        """Of specs whose files do not say it: that they are held, or what has become of them. Looks anew."""
        ...

    def glance(self, task_id: str) -> Kept:
        """As it was at the last `over`, or is now."""
        ...


def lock_key(task_id: str) -> str:
    return task_id + LOCK


class LockLedger:
    def __init__(self, leases: Leases, pasts: Pasts, held: Callable[[], set[str]]) -> None:
        self._leases = leases
        self._pasts = pasts
        self._held = held
        self._names: set[str] = set()

    def read(self, task_id: str) -> Kept:
        return Kept(self._pasts.read(task_id), *self._lease(task_id))

    def over(self) -> Mapping[str, State]:
        self._names = self._pasts.names(KEPT)
        return dict.fromkeys(self._held(), State.CLAIMED)

    def glance(self, task_id: str) -> Kept:
        past = self._pasts.read(task_id) if record_name(task_id) in self._names else Past()
        return Kept(past, *self._lease(task_id))

    def _lease(self, task_id: str) -> tuple[Record | None, bool]:
        try:
            found = self._leases.read(lock_key(task_id))
        except BadInput:
            return None, True
        return found.record if found else None, False
