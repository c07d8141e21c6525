"""What is kept of a task while nobody holds it: its last epoch, its counters, how its leases ended.

    retired/<name>.json      ready, or completed (the witness says so; if that is removed, the epochs go on from here)
    waiting/<name>.json      to be tried again later
    failed/<name>.json       the dead letters
    cancelled/<name>.json

Only who holds the task's lease file writes these. After a crash there may be two; the later one counts.
"""

from collections.abc import Mapping
from typing import Any

from dibs.errors import BadInput
from dibs.lease import Leases, Record, seen
from dibs.queues.history import event_of, event_record, lengthened
from dibs.queues.lockfiles.naming import record_name
from dibs.queues.views import Event
from dibs.states import Cell, State
from dibs.stores.files import FileStore
from dibs.values import dataclass, replace

FOLDERS = {
    State.READY: "retired",
    State.COMPLETED: "retired",
    State.SCHEDULED: "waiting",
    State.FAILED: "failed",
    State.CANCELLED: "cancelled",
}
ALL = ("retired", "waiting", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class Past:
    cell: Cell = Cell(State.READY)
    history: tuple[Event, ...] = ()
    ended: float = 0.0  # the store's time
    turn: int = 0  # counts every record of the task
    home: str = ""  # the folder it was read from

    def then(self, cell: Cell, event: Event | None = None, ended: float = 0.0) -> "Past":
        return replace(self, cell=cell, history=lengthened(self.history, event), ended=ended)


class Pasts:
    """`folders` says where the record of a task in each state is kept."""

    def __init__(self, store: FileStore, leases: Leases, folders: Mapping[State, str] = FOLDERS) -> None:
        self._store = store
        self._leases = leases
        self._folders = folders
        self._all_folders = tuple(dict.fromkeys(folders.values()))

    def read(self, task_id: str) -> Past:
        return max(self._all(task_id), key=lambda past: past.turn, default=Past())

    def write(self, task_id: str, past: Past) -> None:
        """Who dies within leaves the lease file, and so somebody to `settle` this."""
        name = record_name(task_id)
        data: dict[str, Any] = {"task": task_id, "turn": past.turn + 1, "ended": past.ended}
        data["history"] = [event_record(event) for event in past.history]
        home = self._folders[past.cell.state]
        self._store.put(f"{home}/{name}.json", self._leases.to_bytes(Record(past.cell, data=data)))
        if past.home not in ("", home):
            self._store.delete(f"{past.home}/{name}.json")

    def settle(self, task_id: str) -> None:
        """Remove what a later record has replaced."""
        found = sorted(self._all(task_id), key=lambda past: past.turn)
        for old in found[:-1]:
            self._store.delete(f"{old.home}/{record_name(task_id)}.json")

    def forget(self, task_id: str) -> None:
        for folder in self._all_folders:
            self._store.delete(f"{folder}/{record_name(task_id)}.json")

    def names(self, folder: str) -> set[str]:
        """The record names in one of the folders."""
        return {name[:-5] for name in self._store.names(f"{folder}/") if name.endswith(".json")}

    def ids(self, folder: str) -> list[str]:
        found = (self._data(f"{folder}/{name}.json") for name in self.names(folder))
        return [str(data["task"]) for data in found if data and "task" in data]

    def _data(self, key: str) -> Mapping[str, Any] | None:
        entry = self._store.get(key)
        try:
            return None if entry is None else seen(entry).record.data
        except BadInput:
            return None

    def _all(self, task_id: str) -> list[Past]:
        name = record_name(task_id)
        return [past for folder in self._all_folders if (past := self._read(folder, f"{folder}/{name}.json"))]

    def _read(self, home: str, key: str) -> Past | None:
        """None also when it is damaged: then the task starts afresh."""
        entry = self._store.get(key)
        try:
            if entry is None:
                return None
            record = seen(entry).record
            history = tuple(event_of(event) for event in record.data["history"])
            return Past(record.cell, history, float(record.data["ended"]), int(record.data["turn"]), home)
        except (BadInput, KeyError, TypeError, ValueError):
            return None
