"""What the refs of the remote say of specs: one record each, from its first claim on.

A record stays when its lease has ended: it holds the epochs, counters and history, and says what has become of the
spec until a branch brings the file that says so itself.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from dibs.errors import BadInput
from dibs.git.refs import RefStore
from dibs.lease import Leases, Record, Seen, seen
from dibs.queues.history import event_of, event_record, lengthened
from dibs.queues.lockfiles.past import Past
from dibs.queues.specs.ledger import Kept
from dibs.queues.views import Event
from dibs.states import Cell, State
from dibs.values import replace


class RefLedger:
    def __init__(self, store: RefStore, leases: Leases) -> None:
        self._store = store
        self._leases = leases
        self._seen: dict[str, Seen] = {}

    def read(self, task_id: str) -> Kept:
        try:
            found = self._leases.read(task_id)
        except BadInput:
            return Kept()
        return Kept() if found is None else kept(found.record)

    def all(self) -> dict[str, Seen]:
        """Every record, by one fetch."""
        found: dict[str, Seen] = {}
        for task_id, entry in self._store.snapshot().items():
            with suppress(BadInput):  # not ours: nobody is kept from anything by it
                found[task_id] = seen(entry)
        self._seen = found
        return found

    def over(self) -> Mapping[str, State]:
        states = {task_id: one.record.cell for task_id, one in self.all().items()}
        now = self._store.now()
        return {
            task_id: cell.state
            for task_id, cell in states.items()
            if cell.state is not State.READY and not (cell.state is State.SCHEDULED and cell.due <= now)
        }

    def glance(self, task_id: str) -> Kept:
        found = self._seen.get(task_id)
        return Kept() if found is None else kept(found.record)


def kept(record: Record) -> Kept:
    """A record as the queue sees it: what was before, and the lease."""
    history = _history(record.data)
    ended = float(record.data.get("ended") or 0.0)
    if record.cell.state is not State.CLAIMED:
        return Kept(Past(record.cell, history, ended))
    before = record.cell._replace(state=State.READY, epoch=record.cell.epoch - 1, holder="")
    return Kept(Past(before, history), record)


def data_of(task_id: str, clone: str, past: Past, event: Event | None = None, ended: float = 0.0) -> dict[str, Any]:
    history = [event_record(one) for one in lengthened(past.history, event)]
    return {"task": task_id, "clone": clone, "history": history, "ended": ended}


def ended_record(record: Record, cell: Cell, data: dict[str, Any]) -> Record:
    """What stays when a lease has ended. It still names who held it: the file gets that from here."""
    return replace(record, cell=cell, until=None, data=data)


def _history(data: Mapping[str, Any]) -> tuple[Event, ...]:
    try:
        return tuple(event_of(one) for one in data.get("history") or ())
    except (KeyError, TypeError, ValueError, AttributeError):
        return ()
